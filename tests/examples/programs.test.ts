import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { startProgram } from "../support/child_process.ts";
import { withRedis } from "../support/redis/with_redis.ts";
import { isLong } from "../support/seed.ts";

/** Lines that each program prints, among others. */
const PROGRAMS: Readonly<Record<string, readonly RegExp[]>> = {
  api_plans: [/^free: ok, ok, again in 1 s$/, /^pro: ok, ok, ok$/, /^left today: 995$/],
  exports: [
    /^export 5 refused: busy$/,
    /^export 4 done$/,
    /^2 at once at most, 2 free at the end$/,
  ],
  job_queue: [
    /^job 1 at \d+ ms$/,
    /^job 11 at \d+ ms$/,
    /^job 20 refused: a place is free in \d+ ms$/,
  ],
  llm_tokens: [
    /^ada: answered, 1900 tokens left$/,
    /^ada: answered, 2150 tokens in debt$/,
    /^ada: again in 13 s$/,
    /^ada, a minute later: answered, 7769 tokens left$/,
  ],
  login: [
    /^ada: wrong user or password$/,
    /^ada: welcome, ada$/,
    /^bob: again in 1 min$/,
    /^ada: welcome, ada$/,
  ],
  polite_client: [/^call 2: 200 hello, RateLimit: .*r=0;t=1$/, /^call 4: 200 hello/],
  postgres: [
    /^ada comes in$/,
    /^ada may come again in \d+ ms$/,
    /^bob may come again in \d+ ms$/,
    /^user:\{bob\}:gcra\/3\/60000 holds t1 \d+$/,
  ],
  sqlite: [/^first start: ok, 2 left$/, /^second start: ok, 0 left$/, /^second start: refused$/],
  tenant_limits: [
    /^acme: ok, 4 left$/,
    /^unknown: ok, 1 left$/,
    /^evil: refused, 0 left$/,
    /^acme upgraded: ok, 98 left$/,
  ],
  websocket_messages: [/^echo 3$/, /^wait \d+ ms$/, /^closed: 1008 too many messages$/],
};

describe("the example", () => {
  for (const [name, lines] of Object.entries(PROGRAMS)) {
    // PGlite takes longer to start on Bun than all others take together.
    if (name === "postgres" && !isLong()) continue;
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

withRedis("the example express_redis", (redis) => {
  test("refuses the ninth of nine, and ends when it is asked to", async () => {
    const program = startProgram("bun", ["examples/express_redis.ts"], {
      REDIS_URL: redis().url,
      PORT: "0",
    });
    try {
      const [, url = ""] = await program.line(/^Listening on (\S+)$/);
      const begun = performance.now();
      let admitted = 0;
      let { status } = await fetch(url);
      for (; status === 200; status = (await fetch(url)).status) admitted++;
      assert.equal(status, 429);
      // A unit comes back each second, which a busy machine may take for the calls.
      const back = (performance.now() - begun) / 1_000;
      assert.ok(admitted >= 8 && admitted <= 8 + back, `${admitted} in ${back} s`);
    } finally {
      assert.equal(await program.end("SIGTERM"), 0);
    }
  });
});
