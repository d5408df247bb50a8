import assert from "node:assert/strict";
import { test } from "node:test";

import { type Decision, gcra, limiter, StoreUnavailableError } from "../../../mod.ts";
import { redisStore, type RedisStoreOptions } from "../../../stores/redis/redis_store.ts";
import { lease } from "../../../stores/layered/layered.ts";
import { withRedis } from "../../support/redis/with_redis.ts";
import { newClient } from "../../support/redis/new_client.ts";

/** Blocks of 1, 2, 4, 8 and 16 units, and 99 of 20 for the other 1,969 calls. */
const REQUESTS = 5 + 99;
const PATIENT = { deadline: 5_000 };

withRedis("lease over a real server", (redis) => {
  /**
   * Two thousand calls at once on one key, by blocks of up to 20: their answers, and how many requests
   * they were.
   */
  async function crowd(
    options: RedisStoreOptions,
    burst: number,
    before: () => void = () => {},
  ): Promise<{ answers: PromiseSettledResult<Decision>[]; requests: number }> {
    await using store = redisStore(newClient(redis().url), options);
    const api = limiter(gcra({ limit: 1, period: "1h", burst }), {
      store: lease(store, { units: 20, ttl: "1m" }),
      prefix: `${options.commit} ${burst}`,
    });
    await api.peek("another key", 0);
    before();
    const calls = Array.from({ length: 2_000 }, () => api.consume("k"));
    const answers = await Promise.allSettled(calls);
    const { decisions, unavailable } = store.statistics();
    return { answers, requests: decisions + unavailable - 1 };
  }

  function admitted(answers: PromiseSettledResult<Decision>[]): number {
    return answers.filter((one) => one.status === "fulfilled" && one.value.allowed).length;
  }

  for (const commit of ["watch", "cas"] as const) {
    test(`by ${commit}, a crowd on one key is about one request in twenty`, async () => {
      const { answers, requests } = await crowd({ ...PATIENT, commit }, 10_000);
      assert.deepEqual([admitted(answers), requests], [2_000, REQUESTS]);
    });

    test(`by ${commit}, a crowd gets all the units, and not one more`, async () => {
      const { answers, requests } = await crowd({ ...PATIENT, commit }, 1_010);
      assert.deepEqual([admitted(answers), requests], [1_010, REQUESTS + 1_009]);
    });
  }

  test("a server that hangs is asked once for each block, and all receive the error", async () => {
    try {
      const { answers, requests } = await crowd({}, 10_000, () => redis().signal("SIGSTOP"));
      for (const answer of answers) {
        assert.ok(answer.status === "rejected" && answer.reason instanceof StoreUnavailableError);
      }
      assert.equal(requests, REQUESTS);
    } finally {
      redis().signal("SIGCONT");
    }
  });
});
