/*
 * One layer for each kind of store. A program depends only on the `RateLimiter` service. Whoever
 * runs it provides a layer, and so chooses where its counters live.
 */

import * as Context from "effect/Context";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";

import type { Store } from "../../core/store.ts";
import { memoryStore, type MemoryStoreOptions } from "../../stores/memory/memory_store.ts";
import {
  type RedisClient,
  redisStore,
  type RedisStoreOptions,
} from "../../stores/redis/redis_store.ts";
import {
  attachSharedStore,
  sharedStore,
  type SharedStoreHandle,
  type SharedStoreOptions,
} from "../../stores/shared/shared_store.ts";
import { makeRateLimiter, RateLimiter } from "./rate_limiter.ts";

/**
 * The service on a store of any kind, which the caller has made and has to close.
 *
 * @example
 * ```ts
 * import { Effect } from "effect";
 * import { gcra, memoryStore } from "tidegate";
 * import { layerStore, limit, RateLimiter } from "tidegate/effect";
 * import assert from "node:assert/strict";
 *
 * const store = memoryStore({ maxKeys: 10_000 });
 * const api = limit("api", gcra({ limit: 10, period: "1m", burst: 10 }));
 * const program = RateLimiter.use((limiter) => limiter.consume(api, "user:42"));
 *
 * await Effect.runPromise(Effect.provide(program, layerStore(store)));
 * assert.equal(store.statistics().keys, 1);
 * ```
 */
export function layerStore(store: Store): Layer.Layer<RateLimiter> {
  return Layer.sync(RateLimiter, () => makeRateLimiter(store));
}

/** The service on a store that the layer opens, and closes when the layer's scope ends. */
export function layerStoreScoped<E, R>(
  open: Effect.Effect<Store, E, R>,
): Layer.Layer<RateLimiter, E, R> {
  const opened = Effect.acquireRelease(open, closed);
  return Layer.effect(RateLimiter, Effect.map(opened, makeRateLimiter));
}

/**
 * The service on a memory store of its own. The counters belong to one process.
 *
 * @param options The options of `memoryStore`; a bad one is a defect.
 */
export function layerMemory(options: MemoryStoreOptions = {}): Layer.Layer<RateLimiter> {
  return layerStoreScoped(Effect.sync(() => memoryStore(options)));
}

/** The handle with which other threads share a store. Send it to them in a message. */
export interface SharedHandle extends SharedStoreHandle {}

/** The service key of `SharedHandle`, which `layerShared` provides along with the limiter. */
export const SharedHandle: Context.Service<SharedHandle, SharedHandle> = Context.Service<
  SharedHandle
>("tidegate/effect/SharedHandle");

/**
 * The service on a new store in shared memory, for all threads of the process. Other threads attach
 * to it with `layerAttached` and the handle, which this layer provides as `SharedHandle`.
 *
 * @param options The options of `sharedStore`; a bad one is a defect.
 *
 * @example
 * ```ts
 * import { Effect } from "effect";
 * import { gcra } from "tidegate";
 * import { layerAttached, layerShared, limit, RateLimiter, SharedHandle } from "tidegate/effect";
 * import assert from "node:assert/strict";
 *
 * const api = limit("api", gcra({ limit: 2, period: "1m", burst: 2 }));
 * const take = RateLimiter.use((limiter) => limiter.consume(api, "user:42"));
 *
 * const program = Effect.gen(function* () {
 *   yield* take;
 *   const handle = yield* SharedHandle; // worker.postMessage(handle)
 *   return yield* Effect.provide(take, layerAttached(handle)); // in the worker
 * });
 * const layer = layerShared({ capacity: 10_000 });
 * assert.equal((await Effect.runPromise(Effect.provide(program, layer))).remaining, 0);
 * ```
 */
export function layerShared(
  options: SharedStoreOptions,
): Layer.Layer<RateLimiter | SharedHandle> {
  const open = Effect.acquireRelease(Effect.sync(() => sharedStore(options)), closed);
  return Layer.effectContext(
    Effect.map(open, (store) =>
      Context.make(RateLimiter, makeRateLimiter(store)).pipe(
        Context.add(SharedHandle, store.handle),
      )),
  );
}

/**
 * The service on a store in shared memory that another thread made.
 *
 * @param handle The store's handle, received in a message; anything else is a defect.
 */
export function layerAttached(handle: SharedStoreHandle): Layer.Layer<RateLimiter> {
  return layerStoreScoped(Effect.sync(() => attachSharedStore(handle)));
}

/**
 * The service on Redis, for many machines. The store opens its own connections with the client's
 * options, and closes them with the layer. It leaves the given client as it is.
 *
 * With Effect's default `Clock`, the Redis server tells the time.
 *
 * @param client Any client that `redisStore` takes, such as the result of `createClient`,
 * `createClientPool`, `createCluster` or `createSentinel` of the package `redis`.
 * @param options The options of `redisStore`; a bad one is a defect.
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
 * const api = limit("api", gcra({ limit: 10, period: "1m", burst: 10 }));
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

/** Closes a store. A failure to close must not fail a program that has done its work. */
function closed(store: Store): Effect.Effect<void> {
  return Effect.ignore(Effect.tryPromise(async () => await store.close()));
}
