import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";

import type { Store } from "../../core/store.ts";
import { memoryStore, type MemoryStoreOptions } from "../../stores/memory.ts";
import { type RedisClient, redisStore, type RedisStoreOptions } from "../../stores/redis.ts";
import { makeRateLimiter, RateLimiter } from "./rate_limiter.ts";

/**
 * The service on a store of the caller's, who also closes it: any store, of any of the packages.
 *
 * @example
 * ```ts
 * import { Effect } from "effect";
 * import { gcra, memoryStore } from "tidegate";
 * import { layerStore, limit, RateLimiter } from "tidegate/effect";
 * import assert from "node:assert/strict";
 *
 * const store = memoryStore({ maxKeys: 10_000 });
 * const api = limit("api", gcra({ limit: 10, period: "1m" }));
 * const program = RateLimiter.use((limiter) => limiter.consume(api, "user:42"));
 *
 * await Effect.runPromise(Effect.provide(program, layerStore(store)));
 * assert.equal(store.statistics().keys, 1);
 * ```
 */
export function layerStore(store: Store): Layer.Layer<RateLimiter> {
  return Layer.sync(RateLimiter, () => makeRateLimiter(store));
}

/** The service on a store that the layer opens, and closes with its scope. */
export function layerStoreScoped<E, R>(
  open: Effect.Effect<Store, E, R>,
): Layer.Layer<RateLimiter, E, R> {
  const opened = Effect.acquireRelease(open, closed);
  return Layer.effect(RateLimiter, Effect.map(opened, makeRateLimiter));
}

/**
 * The service on a memory store of its own: one process.
 *
 * @param options `maxKeys` and `onFull` of `memoryStore`; a bad one is a defect.
 */
export function layerMemory(options: MemoryStoreOptions = {}): Layer.Layer<RateLimiter> {
  return layerStoreScoped(Effect.sync(() => memoryStore(options)));
}

/**
 * The service on Redis: across machines. The store makes connections of its own with the client's
 * options, and closes them with the layer; the client that was given is not touched.
 *
 * On the default `Clock` the time is that of the Redis server.
 *
 * @param client What `createClient`, `createClientPool`, `createCluster` or `createSentinel` of the
 * package `redis` returns.
 * @param options Those of `redisStore`; a bad one is a defect.
 *
 * @example Admitting everybody while Redis is away
 * ```ts
 * import { Effect } from "effect";
 * import { createClient } from "redis";
 * import { gcra } from "tidegate";
 * import { layerRedis, limit, RateLimiter } from "tidegate/effect";
 * import assert from "node:assert/strict";
 *
 * const client = createClient({ url: "redis://127.0.0.1:1" }); // nobody is there
 * const api = limit("api", gcra({ limit: 10, period: "1m" }));
 * const program = RateLimiter.use((limiter) => limiter.consume(api, "user:42"));
 *
 * const layer = layerRedis(client, { onUnavailable: "allow" });
 * const decision = await Effect.runPromise(Effect.provide(program, layer));
 * assert.equal(decision.source, "policy");
 * ```
 */
export function layerRedis(
  client: RedisClient,
  options: RedisStoreOptions = {},
): Layer.Layer<RateLimiter> {
  return layerStoreScoped(Effect.sync(() => redisStore(client, options)));
}

/** Closing is for good, whatever it says. */
function closed(store: Store): Effect.Effect<void> {
  return Effect.promise(() => Promise.resolve(store.close()));
}
