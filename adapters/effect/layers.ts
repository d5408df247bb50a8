/*
 * One layer for each kind of store. A program depends only on the `RateLimiter` service. Whoever
 * runs it provides a layer, and so chooses where its counters live.
 */

import * as Config from "effect/Config";
import * as Context from "effect/Context";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";

import type { Store } from "../../core/store.ts";
import { memoryStore, type MemoryStoreOptions } from "../../stores/memory/memory_store.ts";
import { redisStore, type RedisStoreOptions } from "../../stores/redis/redis_store.ts";
import {
  attachSharedStore,
  sharedStore,
  type SharedStoreHandle,
  type SharedStoreOptions,
} from "../../stores/shared/shared_store.ts";
import { storeFailure } from "./bound_limit.ts";
import type { RateLimitError } from "./errors.ts";
import { Redis } from "./needs_effect_4_1.ts";
import { makeRateLimiter, RateLimiter } from "./rate_limiter.ts";
import { redisSender } from "./redis_sender.ts";

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
 * Effect shares layers by reference. Without options this is one layer, however often it is called;
 * with options each call is another layer, and so another store with counters of its own: call it
 * once, and use the constant.
 *
 * @param options The options of `memoryStore`; a bad one is a defect.
 */
export function layerMemory(options?: MemoryStoreOptions): Layer.Layer<RateLimiter> {
  return options === undefined ? memory : layerOnMemory(options);
}

const memory = layerOnMemory({});

function layerOnMemory(options: MemoryStoreOptions): Layer.Layer<RateLimiter> {
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
 * to it with `layerAttached` and the handle, which this layer provides as `SharedHandle`. Each call
 * is another layer with another store: call it once, and use the constant.
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
 * The service on a store in shared memory that another thread made. It fails if the store has no
 * place for another thread.
 *
 * @param handle The store's handle, received in a message; anything else is a defect.
 */
export function layerAttached(
  handle: SharedStoreHandle,
): Layer.Layer<RateLimiter, RateLimitError> {
  return layerStoreScoped(
    Effect.try({ try: () => attachSharedStore(handle), catch: storeFailure }),
  );
}

/**
 * The service on Effect's own `Redis`, for many machines.
 *
 * With Effect's default `Clock`, the Redis server tells the time. Commands of other callers share
 * the connection of `Redis`, so decisions are committed by scripts; where a server permits none, and
 * for a cluster or a sentinel, give `layerStoreScoped` a `redisStore` with connections of its own.
 *
 * @param options The options of `redisStore`; a bad one is a defect.
 *
 * @example
 * ```ts
 * import { Layer } from "effect";
 * import type { Redis } from "effect/persistence";
 * import { layerRedis } from "tidegate/effect";
 *
 * // Such as `NodeRedis.layer({ url })` of `@effect/platform-node`.
 * export const limitsOn = <E>(redis: Layer.Layer<Redis.Redis, E>) =>
 *   Layer.provide(layerRedis({ onUnavailable: "allow" }), redis);
 * ```
 */
export function layerRedis(
  options: RedisStoreOptions = {},
): Layer.Layer<RateLimiter, never, Redis.Redis> {
  return layerStoreScoped(storeOnRedis(options));
}

/**
 * `layerRedis` with options from the configuration.
 *
 * @param options A `Config` of the options, or options of `Config`s.
 *
 * @example
 * ```ts
 * import { Config } from "effect";
 * import { layerRedisConfig } from "tidegate/effect";
 *
 * export const limits = layerRedisConfig({
 *   timeout: Config.withDefault(Config.Int("REDIS_TIMEOUT"), 100),
 * });
 * ```
 */
export function layerRedisConfig(
  options: Config.Wrap<RedisStoreOptions>,
): Layer.Layer<RateLimiter, Config.ConfigError, Redis.Redis> {
  return layerStoreScoped(Effect.flatMap(Config.unwrap(options), storeOnRedis));
}

function storeOnRedis(options: RedisStoreOptions): Effect.Effect<Store, never, Redis.Redis> {
  return Effect.contextWith((context: Context.Context<Redis.Redis>) => {
    const send = redisSender(Context.get(context, Redis.Redis), context);
    return Effect.sync(() => redisStore(send, options));
  });
}

/** Closes a store. A failure to close must not fail a program that has done its work. */
function closed(store: Store): Effect.Effect<void> {
  return Effect.ignore(Effect.tryPromise(async () => await store.close()));
}
