import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { withTimeout } from "../../core/with_timeout.ts";
import { startProgram } from "../support/child_process.ts";
import { rawRequest } from "../support/raw_request.ts";
import { freePort } from "../support/redis/free_port.ts";

/** A thread of `deno serve --parallel` may never answer on a busy machine: then another is asked. */
const ANSWER_WITHIN = 5_000;

/** Asks until the server answers, then 60 times in all; how many answers had each status. */
async function ask(port: number): Promise<Readonly<Record<number, number>>> {
  const statuses: Record<number, number> = {};
  for (let tries = 0, answered = 0; answered < 60; tries++) {
    try {
      const { status } = await withTimeout(rawRequest(port), ANSWER_WITHIN, noAnswer);
      statuses[status] = (statuses[status] ?? 0) + 1;
      answered++;
    } catch (error) {
      if (tries > 1_000 || (answered > 0 && error !== NO_ANSWER)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  return statuses;
}

const NO_ANSWER = new Error("No thread answers");

function noAnswer(): never {
  throw NO_ANSWER;
}

const programs = {
  "Node's worker threads": (port: number) =>
    startProgram("node", ["examples/node_threads.ts"], { PORT: String(port), THREADS: "2" }),
  "deno serve --parallel": (port: number) =>
    startProgram(
      "deno",
      ["serve", "-A", "--no-check", "--parallel", `--port=${port}`, "examples/deno_parallel.ts"],
      { DENO_JOBS: "2" },
    ),
};

describe("the examples with threads on one port admit exactly the limit", () => {
  for (const [name, start] of Object.entries(programs)) {
    test(name, async () => {
      const port = await freePort();
      const server = start(port);
      try {
        assert.deepEqual(await ask(port), { 200: 30, 429: 30 });
      } finally {
        await server.end("SIGTERM");
      }
    });
  }
});
