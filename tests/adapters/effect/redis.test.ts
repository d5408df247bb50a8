import assert from "node:assert/strict";
import { test } from "node:test";
import { Cause, Duration, Effect, Exit, Layer } from "effect";
import { RateLimiter as EffectRateLimiter } from "effect/persistence";
import { TestClock } from "effect/testing";

import {
  layerRateLimiterStore,
  layerRedis,
  limit,
  RateLimiter,
  RateLimitStoreError,
} from "../../../adapters/effect/effect.ts";
import { gcra } from "../../../mod.ts";
import { redisStore } from "../../../stores/redis/redis_store.ts";
import { withRedis } from "../../support/redis/with_redis.ts";
import { newClient } from "../../support/redis/new_client.ts";

const patient = { deadline: 5_000 };

withRedis("on Redis", (redis) => {
  const clientOf = () => newClient(redis().url);

  test("a TestClock's time takes the place of the server's", async () => {
    const api = limit("effect-clock", gcra({ limit: 1, period: "1h", burst: 1 }));
    const program = Effect.gen(function* () {
      const limiter = yield* RateLimiter;
      // Later than the server's time, so that nothing expires under the test.
      yield* TestClock.setTime(Date.now() + 1_000);
      assert.equal((yield* limiter.consume(api, "a")).allowed, true);
      assert.deepEqual((yield* limiter.consume(api, "a")).retryAfter, Duration.hours(1));
      yield* TestClock.adjust("1 hour");
      assert.equal((yield* limiter.consume(api, "a")).allowed, true);
    });
    const layer = Layer.merge(layerRedis(clientOf(), patient), TestClock.layer());
    await Effect.runPromise(Effect.provide(program, layer));
  });

  test("Effect's own RateLimiter counts there too", async () => {
    const store = redisStore(clientOf(), patient);
    const program = Effect.gen(function* () {
      const limiter = yield* EffectRateLimiter.RateLimiter;
      const call = { key: "b", limit: 2, window: "1 hour", algorithm: "token-bucket" } as const;
      const first = yield* limiter.consume(call);
      yield* limiter.consume(call);
      const error = yield* Effect.flip(limiter.consume(call));
      return [first.remaining, error.reason._tag] as const;
    });
    const layer = Layer.provide(EffectRateLimiter.layer, layerRateLimiterStore(store));
    const answers = await Effect.runPromise(Effect.provide(program, layer));
    await store.close();
    assert.deepEqual(answers, [1, "RateLimitExceeded"]);
  });
});

test("a Redis that is not there is a typed error", async () => {
  const client = newClient("redis://127.0.0.1:1");
  const api = limit("api", gcra({ limit: 1, period: "1h", burst: 1 }));
  const program = RateLimiter.use((limiter) => limiter.consume(api, "a"));
  const exit = await Effect.runPromiseExit(Effect.provide(program, layerRedis(client)));
  assert.ok(Exit.isFailure(exit));
  const error = Cause.squash(exit.cause);
  assert.ok(error instanceof RateLimitStoreError);
  assert.deepEqual([error.reason, error.applied], ["unavailable", "no"]);
});
