/*
 * Processes at different distances from Redis that share a key. Whoever is near is always faster, and
 * without a way to be fair the others would never get through.
 *
 * TIDEGATE_LONG=1 prints what becomes of the distant one's calls by each mode, rate and distance.
 */
import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";

import { gcra } from "../../../mod.ts";
import { distantCalls } from "../../support/redis/distant_calls.ts";
import { withRedis } from "../../support/redis/with_redis.ts";

const MODES = ["watch", "cas", "script"] as const;

const RATES = { near: 500, far: 30 };

/** So much that nothing is refused. */
const endless = gcra({ limit: 1, period: "1d", burst: 10_000_000 });

withRedis("a process 20 ms away from Redis", (redis) => {
  test("gets through beside one that is near, by each commit", async () => {
    for (const commit of MODES) {
      const { near, far } = await distantCalls(
        redis(),
        endless,
        `near by ${commit}`,
        { commit, deadline: 5_000, timeout: 2_000 },
        RATES,
        20,
        1_000,
      );
      assert.deepEqual([near.failed, far.failed], [{}, {}], commit);
      assert.ok(far.admitted > 10, `${far.admitted} calls`);
    }
  });
});

if (process.env["TIDEGATE_LONG"] === "1") {
  withRedis("the failures of a distant process", (redis) => {
    test("by mode, rate and distance", async () => {
      const rows: Record<string, unknown>[] = [];
      for (const commit of MODES) {
        for (const near of [500, 2_000]) {
          for (const delay of [1, 5]) {
            const run = `${commit} ${near} ${delay}`;
            const calls = await distantCalls(
              redis(),
              endless,
              run,
              { commit },
              { near, far: 100 },
              delay,
              10_000,
            );
            const failedOf = ({ failed }: typeof calls.far) =>
              Object.values(failed).reduce((sum, count) => sum + count, 0);
            rows.push({
              ...{ commit, "near/s": near, "ms each way": delay, "calls": calls.far.admitted },
              ...{ "far failed": failedOf(calls.far), "near failed": failedOf(calls.near) },
            });
          }
        }
      }
      console.table(rows);
    });
  });
}
