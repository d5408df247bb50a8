/*
 * Processes at different distances from Redis that share a key. Whoever is near is always faster, and
 * without a way to be fair the others would never get through.
 */
import assert from "node:assert/strict";
import { test } from "node:test";

import { gcra } from "../../../mod.ts";
import { distantCalls } from "../../support/redis/distant_calls.ts";
import { withRedis } from "../../support/redis/with_redis.ts";
import { drawn } from "../../support/seed.ts";

const RATES = { near: 500, far: 30 };

/** So much that nothing is refused. */
const endless = gcra({ limit: 1, period: "1d", burst: 10_000_000 });

withRedis("a process 20 ms away from Redis", (redis) => {
  for (const commit of drawn(["watch", "cas", "script"] as const)) {
    test(`gets through beside one that is near, by ${commit}`, async () => {
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
      // A busy machine makes fewer calls than it should, and each that was made got through.
      assert.ok(far.admitted > 0, commit);
    });
  }
});
