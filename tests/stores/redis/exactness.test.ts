import assert from "node:assert/strict";
import { test } from "node:test";

import { contested, CONTESTED_LIMIT } from "../../support/redis/contested.ts";
import { crowd } from "../../support/redis/crowd.ts";
import { withRedis } from "../../support/redis/with_redis.ts";

/** Of 4 processes that try this often each, all together try a fifth more often than the limit. */
const OFFERED = CONTESTED_LIMIT * 0.3;

withRedis("4 processes on one key", (redis) => {
  for (const commit of ["watch", "cas", "script"] as const) {
    test(`are admitted exactly as often as the limit says, by ${commit}`, async () => {
      const reports = await crowd(4, redis().url, commit, OFFERED);
      const sums = Object.keys(contested()).map((name) => [
        name,
        reports.reduce((sum, { admitted }) => sum + admitted[name]!, 0),
      ]);
      const exact = Object.keys(contested()).map((name) => [name, CONTESTED_LIMIT]);
      assert.deepEqual(sums, exact);
      const conflicts = reports.reduce((sum, report) => sum + report.conflicts, 0);
      assert.ok(conflicts > 0, "no two processes ever met on the key");
    });
  }
});
