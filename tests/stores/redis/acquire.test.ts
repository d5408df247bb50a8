/*
 * Callers that wait their turn, by each commit: an attempt is a verb like others, in scripts as well.
 */
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  acquire,
  all,
  gcra,
  leakyQueue,
  limiter,
  RateLimitedError,
  slidingWindow,
} from "../../../mod.ts";
import { withRedis } from "../../support/redis/with_redis.ts";

const ALGORITHMS = {
  gcra: gcra({ limit: 1, period: "40ms", burst: 2 }),
  slidingWindow: slidingWindow({ limit: 2, period: "80ms", precision: "10ms" }),
  all: all(
    gcra({ limit: 1, period: "40ms", burst: 2 }),
    gcra({ limit: 100, period: "1h", burst: 100 }),
  ),
  leakyQueue: leakyQueue({ limit: 1, period: "40ms", queue: 10 }),
};

withRedis("acquire", (_redis, { storeOf }) => {
  for (const commit of ["watch", "cas", "script"] as const) {
    for (const [name, algorithm] of Object.entries(ALGORITHMS)) {
      test(`by ${commit} of ${name}: callers wait their turns in the order in which they came`, async () => {
        const api = limiter(algorithm, { store: storeOf({ commit }), prefix: commit });
        const order: number[] = [];
        const waiting = Array.from({ length: 5 }, async (_, index) => {
          const { allowed } = await acquire(api, "a", { maxWait: 30_000 });
          order.push(index);
          return allowed;
        });
        assert.deepEqual(await Promise.all(waiting), Array(5).fill(true));
        assert.deepEqual(order, [0, 1, 2, 3, 4]);
      });
    }

    test(`by ${commit}: a caller that would wait too long is refused, and charged nothing`, async () => {
      const slow = gcra({ limit: 1, period: "1d", burst: 10 });
      const api = limiter(slow, { store: storeOf({ commit }), prefix: commit });
      assert.equal((await acquire(api, "a", { cost: 10 })).remaining, 0);
      await assert.rejects(acquire(api, "a", { maxWait: 1_000 }), RateLimitedError);
      await api.refund("a", 4);
      assert.equal((await acquire(api, "a", { maxWait: 1_000 })).remaining, 3);
    });
  }
});
