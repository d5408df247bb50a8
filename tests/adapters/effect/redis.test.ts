import assert from "node:assert/strict";
import { test } from "node:test";
import { Config, ConfigProvider, Duration, Effect, Layer } from "effect";
import { RateLimiter as EffectRateLimiter } from "effect/persistence";
import { TestClock } from "effect/testing";

import {
  layerRateLimiterStore,
  layerRedis,
  layerRedisConfig,
  limit,
  RateLimiter,
} from "../../../adapters/effect/effect.ts";
import { gcra } from "../../../mod.ts";
import { redisStore } from "../../../stores/redis/redis_store.ts";
import { withRedis } from "../../support/redis/with_redis.ts";
import { newClient } from "../../support/redis/new_client.ts";
import { layerOfClient } from "./support/layer_of_client.ts";

const patient = { timeout: 5_000, deadline: 5_000 };

withRedis("on Redis", (redis, { clientOf }) => {
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
    const layer = Layer.provide(layerRedis(patient), layerOfClient(await clientOf()));
    await Effect.runPromise(Effect.provide(program, Layer.merge(layer, TestClock.layer())));
  });

  test("two layers on Effect's Redis admit no more than the limit, whatever scripts are lost", async () => {
    const api = limit("effect-shared", gcra({ limit: 30, period: "1h", burst: 30 }));
    const client = await clientOf();
    const take = RateLimiter.use((limiter) =>
      Effect.forEach(Array(25), () => limiter.consume(api, "a"), { concurrency: "unbounded" })
    );
    const process = async () => {
      const layer = Layer.provide(layerRedis(patient), layerOfClient(await clientOf()));
      const program = Effect.andThen(
        take,
        (first) =>
          Effect.promise(() => client.sendCommand(["SCRIPT", "FLUSH"])).pipe(
            Effect.andThen(take),
            Effect.map((second) => [...first, ...second]),
          ),
      );
      return Effect.runPromise(Effect.provide(program, layer));
    };
    const decisions = (await Promise.all([process(), process()])).flat();
    assert.equal(decisions.filter(({ allowed }) => allowed).length, 30);
  });

  test("Effect's own RateLimiter counts there too", async () => {
    const store = redisStore(newClient(redis().url), patient);
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

const nobody = layerOfClient(newClient("redis://127.0.0.1:1"));
const api = limit("api", gcra({ limit: 1, period: "1h", burst: 1 }));
const consume = RateLimiter.use((limiter) => limiter.consume(api, "a"));

test("a Redis that is not there is a typed error", async () => {
  const layer = Layer.provide(layerRedis(), nobody);
  const { reason } = await Effect.runPromise(Effect.flip(Effect.provide(consume, layer)));
  assert.ok(reason._tag === "StoreUnavailable");
  assert.match(reason.message, /client is closed/i);
});

test("options come from the configuration, and a missing one is an error of it", async () => {
  const layer = Layer.provide(
    layerRedisConfig({ onUnavailable: Config.Literals(["allow", "deny"], "ON_UNAVAILABLE") }),
    nobody,
  );
  const given = (env: Record<string, string>) =>
    Effect.provide(
      Effect.provide(consume, layer),
      ConfigProvider.layer(ConfigProvider.fromEnv({ env })),
    );
  const decision = await Effect.runPromise(given({ ON_UNAVAILABLE: "allow" }));
  assert.deepEqual([decision.allowed, decision.source], [true, "policy"]);
  const error = await Effect.runPromise(Effect.flip(given({})));
  assert.equal(error._tag, "ConfigError");
});
