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

import type { Algorithm } from "../../core/algorithm.ts";
import {
  checkCost,
  checkFunction,
  checkInteger,
  checkNow,
  checkOptions,
  errorMessage,
} from "../../core/options/checks.ts";
import { LONGEST_TIMER } from "../../core/clock.ts";
import type { Decision } from "../../core/decision.ts";
import type { AsyncStore, Operation, PreparedCall } from "../../core/store.ts";
import { cachedKeys } from "./keys/cached_keys.ts";
import { answerUnavailable } from "./failures/answer_unavailable.ts";
import { type Answer, newJob, type Several } from "./batches/job.ts";
import { valueCache } from "./batches/value_cache.ts";
import { chooseRouter, type RedisClient } from "./routing/choose_router.ts";
import { serverClock } from "./connections/server_clock.ts";
import type { StoreContext } from "./store_context.ts";
import { keyNamer } from "./keys/stored_redis_key.ts";
import { unavailableError } from "./failures/unavailable_error.ts";

/** The options of `redisStore`. */
export interface RedisStoreOptions {
  /**
   * How a batch of decisions is committed. `"watch"` (default): by WATCH, MULTI and EXEC, in two
   * round trips, with every server that there is. `"cas"`: by a script that compares and sets, in
   * one round trip where nobody else touched the key, and in conflict key by key. `"auto"`: `"cas"`
   * if the server lets us run scripts, otherwise `"watch"`.
   */
  readonly commit?: "watch" | "cas" | "auto" | undefined;
  /**
   * Whose clock decides. `"server"` (default): that of Redis; in cas mode an estimate of it that is
   * wrong by half a round trip at most. `"client"`: `Date.now`.
   */
  readonly time?: "server" | "client" | undefined;
  /** The most milliseconds that one round trip may take; from 1 to 2^31 - 1; default 50. */
  readonly deadline?: number | undefined;
  /**
   * The most milliseconds that connecting may take; from 1 to 2^31 - 1; default 1,000, or the
   * deadline if that is more. Only calls before the first connection to a server wait for so long.
   */
  readonly connectDeadline?: number | undefined;
  /**
   * What a call is told when Redis does not answer: `"throw"` (default) throws a
   * `StoreUnavailableError`, `"allow"` and `"deny"` answer with a decision whose `source` is
   * `"policy"`. Resets and contention throw in any case.
   */
  readonly onUnavailable?: "throw" | "allow" | "deny" | undefined;
  /**
   * The most calls that may wait for a connection, in a cluster for that to each node; a positive
   * integer; default 10,000.
   */
  readonly maxPending?: number | undefined;
  /**
   * How many connections to a single server, each with a batch of its own, so that one is prepared
   * while the server works on another; a key is always the same one's. From 1 to 16; default 1, as
   * large batches cost less than small ones. In a cluster each node has one.
   */
  readonly connections?: number | undefined;
  /**
   * What decides in which hash slot of a cluster a key lies; without it, the key itself. Keys of
   * one tag can be taken together by `consumeAll`.
   */
  readonly hashTag?: ((key: string) => string) | undefined;
}

/** What a Redis store has done since it was made. */
export interface RedisStoreStatistics {
  /** Calls that were answered by Redis. */
  readonly decisions: number;
  /** Batches that they went in, those included that lost a race. */
  readonly batches: number;
  /** Round trips that the batches took. */
  readonly roundTrips: number;
  /** How often a call had to be tried again, as others had changed its key. */
  readonly conflicts: number;
  /** Calls that ended in a `ContentionError`. */
  readonly contended: number;
  /** Calls that Redis did not answer. */
  readonly unavailable: number;
  /** Connections made. */
  readonly connections: number;
  /** Values that were no states of their algorithm: each was treated as absent. */
  readonly unreadable: number;
}

/** A store in Redis. */
export interface RedisStore extends AsyncStore {
  /** What it has done; constant time. */
  statistics(): RedisStoreStatistics;
}

/**
 * A store in Redis, by a client, pool or cluster client of node-redis 5.1 or later, or a sentinel
 * client of node-redis 6.
 *
 * It makes connections of its own with the client's options, when it is first used; the client that
 * was given need not be connected (but a pool), and is not touched. Calls of one process that come while a batch
 * is under way share the next one: many decisions are two round trips, and one write for each key.
 * A refused call writes nothing. No algorithm is written in Lua: Redis keeps text, as
 * `prefix:{key}:id`, and reducers run here.
 *
 * A value lives for `resetAfter` and 5 to 8 seconds more; that of a fresh key is deleted. One that is no
 * state of its algorithm, written by hand or by another version, counts as absent, and is replaced
 * by the next call that is admitted.
 *
 * Close the store when it is no longer needed: an open connection keeps the process alive.
 *
 * @param client What `createClient`, `createClientPool`, `createCluster` or `createSentinel` of the
 * package `redis` returns.
 * @param options As above.
 * @throws {TypeError} If an option is of the wrong type, or the client is none of these.
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
  const {
    commit,
    time,
    deadline,
    connectDeadline,
    onUnavailable,
    maxPending,
    connections,
    hashTag,
  } = readOptions(options);
  const counters = {
    decisions: 0,
    batches: 0,
    roundTrips: 0,
    conflicts: 0,
    contended: 0,
    unavailable: 0,
    connections: 0,
    unreadable: 0,
  };
  const parts: StoreContext = {
    deadline,
    dialDeadline: connectDeadline,
    askTime: time === "server",
    maxPending,
    connections,
    values: valueCache(),
    clock: serverClock(),
    counters,
    failJobs(jobs, applied, cause) {
      counters.unavailable += jobs.length;
      for (const job of jobs) {
        answerUnavailable(job, unavailableError(applied, cause), onUnavailable, router.untilProbe);
      }
    },
  };
  const router = chooseRouter(client, commit, parts);

  function keyOf(prefix: string, id: string, key: string): string {
    return keyNamer(prefix, id, hashTag)(key);
  }

  function run(operations: readonly Operation[], at?: number): Promise<readonly Decision[]> {
    if (operations.length === 0) return Promise.resolve([]);
    const instant = at === undefined ? undefined : checkNow(at);
    for (const { cost } of operations) checkCost("run an operation", cost);
    const keys = operations.flatMap(({ key, replaces }) =>
      replaces === undefined ? [key] : [key, replaces.key]
    );
    requireOneSlot(keys, router.slotOf);
    return ask(keys[0]!, instant, undefined, { operations, keys });
  }

  function prepare(prefix: string, algorithm: Algorithm): PreparedCall<Promise<Decision>> {
    const nameOf = cachedKeys(keyNamer(prefix, algorithm.id, hashTag));
    return function decideOne(key, cost, dry, at) {
      const stored = nameOf(key);
      return ask(stored, at, { key: stored, algorithm, cost, dry, replaces: undefined }, undefined);
    };
  }

  function forget(stored: string): Promise<void> {
    return ask<undefined>(stored, undefined, undefined, undefined);
  }

  function ask<Told extends Answer>(
    key: string,
    at: number | undefined,
    one: Operation | undefined,
    several: Several | undefined,
  ): Promise<Told> {
    return new Promise((resolve, reject) => {
      const settle = resolve as (answer: Answer) => void;
      router.submit(newJob(key, router.slotOf(key), at, one, several, settle, reject));
    });
  }

  function close(): Promise<void> {
    router.close();
    return Promise.resolve();
  }

  return {
    run,
    internals: { prepare, keyOf },
    accepts() {},
    delete: forget,
    close,
    [Symbol.asyncDispose]: close,
    statistics: () => ({ ...counters }),
  };
}

/** The options, with their defaults. */
type ReadOptions =
  & Pick<RedisStoreOptions, "hashTag">
  & {
    [Option in Exclude<keyof RedisStoreOptions, "hashTag">]-?: NonNullable<
      RedisStoreOptions[Option]
    >;
  };

function readOptions(options: RedisStoreOptions): ReadOptions {
  const action = "create redisStore";
  checkOptions(action, options);
  const {
    commit = "watch",
    time = "server",
    deadline = 50,
    onUnavailable = "throw",
    maxPending = 10_000,
    connections = 1,
    hashTag,
  } = options;
  checkTimer(action, "deadline", deadline);
  const { connectDeadline = Math.max(1_000, deadline) } = options;
  checkTimer(action, "connectDeadline", connectDeadline);
  checkInteger(action, "maxPending", maxPending, 1);
  checkInteger(action, "connections", connections, 1);
  if (connections > 16) {
    throw new RangeError(errorMessage(action, "connections must be at most 16", connections));
  }
  checkChoice(action, "commit", commit, ["watch", "cas", "auto"]);
  checkChoice(action, "time", time, ["server", "client"]);
  checkChoice(action, "onUnavailable", onUnavailable, ["throw", "allow", "deny"]);
  if (hashTag !== undefined) checkFunction(action, "hashTag", hashTag);
  return {
    commit,
    time,
    deadline,
    connectDeadline,
    onUnavailable,
    maxPending,
    connections,
    hashTag,
  };
}

/** Requires milliseconds that a timer can wait for. */
function checkTimer(action: string, option: string, milliseconds: number): void {
  checkInteger(action, option, milliseconds, 1);
  if (milliseconds <= LONGEST_TIMER) return;
  const rule = `${option} must be at most ${LONGEST_TIMER} ms`;
  throw new RangeError(errorMessage(action, rule, milliseconds));
}

function checkChoice(
  action: string,
  option: string,
  value: string,
  choices: readonly string[],
): void {
  if (choices.includes(value)) return;
  const names = choices.map((choice) => `"${choice}"`).join(" or ");
  throw new TypeError(errorMessage(action, `${option} must be ${names}`, value));
}

/** Requires keys that one transaction can hold. */
function requireOneSlot(keys: readonly string[], slotOf: (key: string) => number): void {
  const slot = slotOf(keys[0]!);
  const stranger = keys.find((key) => slotOf(key) !== slot);
  if (stranger === undefined) return;
  const rule = `all keys must lie in the hash slot of ${keys[0]} (give the store a hashTag)`;
  throw new TypeError(errorMessage("decide on several keys at once", rule, stranger));
}

export type { NodeRedisCluster } from "./clients/cluster_dial.ts";
export type { NodeRedisClient, NodeRedisPool } from "./clients/node_redis.ts";
export type { NodeRedisSentinel } from "./clients/node_redis_sentinel.ts";
export type { RedisClient } from "./routing/choose_router.ts";
