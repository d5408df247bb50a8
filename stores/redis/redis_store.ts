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
 * const api = limiter(gcra({ limit: 100, period: "1m" }), { store, prefix: "api" });
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

import { closeNotice } from "../../core/close_notice.ts";
import { checkCost, checkNow, errorMessage } from "../../core/options/checks.ts";
import { StoreUnavailableError } from "../../core/errors.ts";
import type { AsyncStore, Operation } from "../../core/store.ts";
import {
  type Answer,
  type Bound,
  isReadOnly,
  newJob,
  type Part,
  type Several,
  type Turn,
} from "../optimistic/job.ts";
import { familyOpener, type StoredBound } from "../optimistic/families.ts";
import { claimOwner, contendedKeys } from "./commit/claims.ts";
import { valueCache } from "../optimistic/value_cache.ts";
import { serverClock } from "../optimistic/server_clock.ts";
import { deletePrefix } from "./delete_prefix.ts";
import { outageReport } from "./failures/outage_report.ts";
import { answerOverloaded, answerUnavailable } from "../optimistic/answer_unavailable.ts";
import { cachedKeys } from "./keys/cached_keys.ts";
import { keyNamer } from "./keys/stored_redis_key.ts";
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
 * A value lives for `resetAfter` and 5 to 8 seconds more; that of a fresh key is deleted. A value that
 * is no state of its algorithm, written by hand or by another version, counts as absent. The next
 * admitted call replaces it.
 *
 * Close the store when it is no longer needed: an open connection keeps the process alive.
 *
 * @param client What `createClient`, `createClientPool`, `createCluster` or `createSentinel` of the
 * package `redis` returns, a `Redis` or `Redis.Cluster` of ioredis, Bun's `RedisClient`, or a sender.
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
 * const api = limiter(gcra({ limit: 100, period: "1m" }), { store, prefix: "api" });
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
    contended: contendedKeys(clock.roundTrip),
    values: valueCache(given.cacheBytes),
    clock,
    counters,
    reportOutage: outageReport(given),
    failJobs(jobs, applied, cause) {
      for (const job of jobs) {
        if (job.settled) continue;
        counters.unavailable++;
        const charged = isReadOnly(job) ? "no" : applied;
        answerUnavailable(job, "Redis", charged, cause, given.onUnavailable, router.untilProbe);
      }
    },
    refuseJob(job) {
      counters.overloaded++;
      answerOverloaded(job, "Redis", given.maxPending, given.onOverload);
    },
  };
  const remembered = cachedKeys();
  const router = chooseRouter(client, context);
  const turn = turns();
  let closed = false;

  /** Submits a call: of one verb or of several operations, or with neither to forget the key. */
  function submit(
    key: string,
    at: number | undefined,
    bound: Bound | undefined,
    argument: unknown,
    several: Several | undefined,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const slot = router.slotOf(key);
      router.submit(newJob(key, slot, at, bound, argument, several, turn(), resolve, reject));
    });
  }

  function submitParts(
    parts: readonly Part[],
    at: number | undefined,
    isSingle: boolean,
  ): Promise<Answer> {
    const keys = parts.flatMap(({ name, older }) => [name, ...older]);
    requireOneSlot(keys, router.slotOf);
    return submit(keys[0]!, at, undefined, undefined, { parts, keys, isSingle });
  }

  const open = familyOpener({
    namer: (prefix, id) => remembered(keyNamer(prefix, id, hashTag)),
    submit: (name, at, bound, argument) => submit(name, at, bound, argument, undefined),
    submitParts,
    forget: async (names) => {
      await Promise.all(
        names.map((name) => submit(name, undefined, undefined, undefined, undefined)),
      );
    },
  });

  /** Runs operations as one call, all or nothing. */
  function run(operations: readonly Operation[], at?: number): Promise<readonly unknown[]> {
    if (operations.length === 0) return Promise.resolve([]);
    const now = at === undefined ? undefined : checkNow(at);
    const parts = operations.map(({ bound, key, argument }) => {
      checkCost(bound.verb.name, bound.verb.units(argument), 0);
      return (bound as StoredBound).part(key, argument);
    });
    return submitParts(parts, now, false) as Promise<readonly unknown[]>;
  }

  const { onClose, announce } = closeNotice();

  function close(): Promise<void> {
    closed = true;
    router.close();
    announce();
    return Promise.resolve();
  }

  return {
    open,
    run,
    deleteAll(prefix: string): Promise<void> {
      if (!closed) return deletePrefix(router, prefix, given.connectDeadline);
      const message = "Cannot delete the keys of a prefix as the redisStore must be open";
      return Promise.reject(new StoreUnavailableError(message, "no"));
    },
    onClose,
    close,
    [Symbol.asyncDispose]: close,
    statistics: () => ({ ...counters, roundTripCounts: [...counters.roundTripCounts] }),
  };
}

/**
 * The turn of the event loop that is under way. The clock is read once for all its calls, as to read
 * it for each of them is a twentieth of all work; and at its end, because what it computes before a call
 * must not count against that.
 */
function turns(): () => Turn {
  let current: Turn | undefined;
  return () => {
    if (current !== undefined) return current;
    const turn: Turn = current = { end: undefined };
    setImmediate(() => {
      current = undefined;
      turn.end = performance.now();
    });
    return turn;
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
export type { RedisStoreOptions } from "./redis_options.ts";
export { type RedisStoreStatistics, ROUND_TRIP_SECONDS } from "./statistics.ts";
export type { RedisClient } from "./routing/choose_router.ts";
