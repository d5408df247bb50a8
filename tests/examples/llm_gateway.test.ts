import assert from "node:assert/strict";
import process from "node:process";
import { describe, test } from "node:test";

import { type RunningProgram, startProgram } from "../support/child_process.ts";
import { withRedis } from "../support/redis/with_redis.ts";

const LOAD = "tests/examples/support/llm_load.ts";
const CALLS = process.env["TIDEGATE_LONG"] === undefined ? 120 : 1_000;

type Totals = Readonly<Record<string, number>>;

/** The totals in a line that the load prints. */
async function totalsOf(load: RunningProgram, what: "read" | "billed"): Promise<Totals> {
  const [, json = ""] = await load.line(new RegExp(`^${what} (.*)$`));
  return JSON.parse(json);
}

const startLoad = (calls: number, env: Readonly<Record<string, string>> = {}) =>
  startProgram("bun", [LOAD], { ...env, CALLS: String(calls) });

describe("the example llm_gateway", () => {
  test("bills the tokens that were read, and says so", async () => {
    const program = startProgram("bun", ["examples/llm_gateway.ts"]);
    const [, read, billed] = await program.line(/^(\d+) tokens read, (\d+) tokens billed$/);
    assert.equal(read, billed);
    assert.ok(Number(read) > 500);
    assert.equal(await program.ended, 0);
  });

  test(
    "bills the tokens that were read, even if a third of the clients leave and providers hang up",
    async () => {
      const load = startLoad(CALLS);
      const [read, billed] = [await totalsOf(load, "read"), await totalsOf(load, "billed")];
      assert.equal(await load.ended, 0);
      const { calls, refused, aborted, spare, tokens, money } = read;
      assert.equal(calls, CALLS);
      for (const some of [refused, aborted, spare]) assert.ok(some! > 0, JSON.stringify(read));
      // Refusals have taken nothing, and no stream is held.
      assert.deepEqual(billed, { streams: 0, requests: CALLS, tokens, money });
    },
  );
});

withRedis("the example llm_gateway on Redis", (redis) => {
  test("two processes bill together what their clients have read", async () => {
    const env = { REDIS_URL: redis().url };
    const loads = Array.from({ length: 2 }, () => startLoad(CALLS / 2, env));
    const reads = await Promise.all(loads.map((load) => totalsOf(load, "read")));
    for (const load of loads) assert.equal(await load.ended, 0);
    const sum = (name: string) => reads.reduce((all, read) => all + read[name]!, 0);
    const look = startLoad(0, env);
    assert.deepEqual(await totalsOf(look, "billed"), {
      streams: 0,
      requests: CALLS,
      tokens: sum("tokens"),
      money: sum("money"),
    });
    assert.equal(await look.ended, 0);
  });
});
