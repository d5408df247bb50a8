import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { startProgram } from "../support/child_process.ts";

/** What each program prints, among other lines. */
const PROGRAMS: Readonly<Record<string, readonly RegExp[]>> = {
  api_plans: [/^free: ok, ok, again in 1 s$/, /^pro: ok, ok, ok$/, /^left today: 995$/],
  job_queue: [
    /^job 1 at \d+ ms$/,
    /^job 11 at \d+ ms$/,
    /^job 13 refused: a place is free in \d+ ms$/,
  ],
  login: [
    /^ada: wrong user or password$/,
    /^ada: welcome, ada$/,
    /^bob: again in 60 minutes$/,
    /^ada: welcome, ada$/,
  ],
  polite_client: [/^call 2: 200 hello, RateLimit: .*r=0;t=1$/, /^call 4: 200 hello/],
  websocket_messages: [/^echo 3$/, /^wait \d+ ms$/, /^closed: 1008 too many messages$/],
};

describe("the example", () => {
  for (const [name, lines] of Object.entries(PROGRAMS)) {
    test(`${name} prints what it should, and ends`, async () => {
      const program = startProgram("bun", [`examples/${name}.ts`]);
      try {
        for (const line of lines) await program.line(line);
      } finally {
        assert.equal(await program.ended, 0);
      }
    });
  }
});
