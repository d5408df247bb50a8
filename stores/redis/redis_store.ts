/**
 * The Redis store: limits that hold across machines, by optimistic transactions that many calls
 * share.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { redisStore } from "tidegate/redis";
 * import { createClient } from "redis";
 *
 * const store = redisStore(createClient({ url: "redis://127.0.0.1:6379" }));
 * const api = limiter(gcra({ limit: 100, period: "1m", burst: 100 }), { store, prefix: "api" });
 *
 * export async function mayGoOn(user: string): Promise<boolean> {
 *   const decision = await api.consume(user);
 *   if (!decision.allowed) console.log(`again in ${decision.retryAfter} ms`);
 *   return decision.allowed;
 * }
 * ```
 *
 * @module
 */

import { errorMessage } from "../../core/options/checks.ts";
import type { AsyncStore } from "../../core/store.ts";
import { failedJobs } from "../optimistic/failed_jobs.ts";
import { outageReport } from "../optimistic/outage_report.ts";
import { optimisticStore } from "../optimistic/optimistic_store.ts";
import { claimOwner, contendedKeys } from "./commit/claims.ts";
import { valueCache } from "../optimistic/value_cache.ts";
import { serverClock } from "../optimistic/server_clock.ts";
import { keyNamer } from "./keys/stored_redis_key.ts";
import { deletePrefix, listKeys } from "./prefix_keys.ts";
import { readRedisOptions, type RedisStoreOptions } from "./redis_options.ts";
import { chooseRouter, type RedisClient } from "./routing/choose_router.ts";
import { redisCounters, type RedisStoreStatistics } from "./statistics.ts";
import type { StoreContext } from "./store_context.ts";

/** A store in Redis. */
export interface RedisStore extends AsyncStore {
  /** The store's counters; constant time. */
  statistics(): RedisStoreStatistics;
}

/**
 * A store in Redis, by a client of node-redis, ioredis, iovalkey or Bun, or anything that sends
 * commands; docs/redis.md has the versions.
 *
 * When it is first used, it opens connections of its own with the client's options. It does not use
 * the client that was given, which need not be connected (except for a pool or a sentinel client of
 * node-redis 5). Calls that arrive while a batch is under way share the next one: many decisions take
 * two round trips, and one write for each key. A refused call writes nothing. Redis keeps text, as
 * `prefix:{key}:id`. Reducers run in this process; with `commit: "script"`, Redis runs their state
 * transitions, in a script that tests compare with them.
 *
 * A value lives for `resetAfter` and 5 to 8 seconds more. The value of a fresh key is deleted. A value
 * that is not a state of its algorithm, written by hand or by another version, counts as absent. The
 * next admitted call replaces it.
 *
 * Close the store when it is no longer needed: an open connection keeps the process alive.
 *
 * @param client A client, pool, cluster or sentinel of the package `redis`, a `Redis` or
 * `Redis.Cluster` of ioredis, Bun's `RedisClient`, or a sender.
 * @param options As above.
 * @throws {TypeError} If an option is of the wrong type, or the client is of another kind.
 * @throws {RangeError} If an option is out of range.
 *
 * @example A decision when Redis is away
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { redisStore } from "tidegate/redis";
 * import { createClient } from "redis";
 * import assert from "node:assert/strict";
 *
 * const client = createClient({ url: "redis://127.0.0.1:1" }); // nobody is there
 * const store = redisStore(client, { onUnavailable: "allow" });
 * const api = limiter(gcra({ limit: 100, period: "1m", burst: 100 }), { store, prefix: "api" });
 *
 * const decision = await api.consume("user:42");
 * assert.equal(decision.allowed, true);
 * assert.equal(decision.source, "policy");
 * await store.close();
 * ```
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): RedisStore {
  const given = readRedisOptions(options);
  const { hashTag } = given;
  const counters = redisCounters();
  const clock = serverClock();
  const context: StoreContext = {
    ...given,
    useServerTime: given.time === "server",
    owner: claimOwner(),
    contended: contendedKeys(clock.roundTrip, given.timeout),
    values: valueCache(given.cacheBytes),
    clock,
    counters,
    reportOutage: outageReport("Redis", given),
    ...failedJobs("Redis", given, counters, (slot) => router.untilProbe(slot)),
  };
  const router = chooseRouter(client, context);

  return {
    ...optimisticStore({
      name: "redisStore",
      router,
      namer: (prefix, id) => keyNamer(prefix, id, hashTag),
      requireTogether: (keys) =>
        requireOneSlot(keys.map(({ space, key }) => space.nameOf(key)), router.slotOf),
      deleteAll: (prefix) => deletePrefix(router, prefix, given.connectDeadline),
      list: (prefix, algorithm) => listKeys(router, prefix, algorithm, given.connectDeadline),
    }),
    ...(router.hasSlots && { slotOf: router.slotOf }),
    statistics: () => ({ ...counters, roundTripCounts: [...counters.roundTripCounts] }),
  };
}

/** Requires keys that one transaction can hold. */
function requireOneSlot(keys: readonly string[], slotOf: (key: string) => number): void {
  const slot = slotOf(keys[0]!);
  const stranger = keys.find((key) => slotOf(key) !== slot);
  if (stranger === undefined) return;
  const rule = `all keys must lie in the hash slot of ${keys[0]} (give the store a hashTag)`;
  throw new TypeError(errorMessage("decide on several keys at once", rule, stranger));
}

export type { BunRedisClient } from "./clients/bun_client.ts";
export type { IoRedisClient } from "./clients/ioredis.ts";
export type { Outage } from "../optimistic/circuit_breaker.ts";
export type { RedisSender } from "./clients/sender.ts";
export type { NodeRedisCluster } from "./clients/node_redis_cluster.ts";
export type { NodeRedisClient, NodeRedisPool } from "./clients/node_redis.ts";
export type { NodeRedisSentinel } from "./clients/node_redis_sentinel.ts";
export type { DriverStoreOptions } from "../optimistic/engine_options.ts";
export type { RedisStoreOptions } from "./redis_options.ts";
export type { ServerStoreStatistics } from "../optimistic/server_statistics.ts";
export { type RedisStoreStatistics, ROUND_TRIP_SECONDS } from "./statistics.ts";
export type { RedisClient } from "./routing/choose_router.ts";
