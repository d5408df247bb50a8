/*
 * The options of `redisStore`, their checks and their defaults, so that the rest of the store
 * works with complete and valid values.
 */

import type { Outage } from "../optimistic/circuit_breaker.ts";
import { LONGEST_TIMER } from "../../core/clock.ts";
import { checkFunction, checkOptions, integerFrom } from "../../core/options/checks.ts";
import { ENGINE_CHECKS, engineOptions, oneOf } from "../optimistic/engine_options.ts";

/** The options of `redisStore`. */
export interface RedisStoreOptions {
  /**
   * How a batch of decisions is committed. `"auto"` (default): the first of `"script"`, `"cas"` and
   * `"watch"` that the server permits; `statistics()` says which. `"watch"`: by WATCH, MULTI and EXEC,
   * in two round trips, with every server. `"cas"`: by a script that compares and sets, in one round trip
   * unless another client changed the key; conflicts are per key. `"script"`: the reducer's state
   * transition, in Lua, runs in Redis, in one round trip and without conflicts; windows
   * over timelines, logs and custom algorithms use `"cas"`.
   */
  readonly commit?: "watch" | "cas" | "script" | "auto" | undefined;
  /**
   * The clock that decides. `"server"` (default): that of Redis; in cas mode an estimate of it that is
   * off by half a round trip at most. `"client"`: `Date.now`.
   */
  readonly time?: "server" | "client" | undefined;
  /**
   * Milliseconds that one round trip may take; from 1 to 2^31 - 1; default 200. When they pass, new
   * calls fail at once; when they pass a second time, the connection is given up.
   */
  readonly deadline?: number | undefined;
  /**
   * The most milliseconds that connecting may take; from 1 to 2^31 - 1; default 1,000, or the
   * deadline if that is more. Only calls before the first connection to a server wait that long.
   */
  readonly connectDeadline?: number | undefined;
  /**
   * The most milliseconds that a call may take in all, with its time in the queue, all round trips
   * and all tries; from 1 to 2^31 - 1; default 250, or the deadline if that is more. While the
   * first connection to a server is made, `connectDeadline` counts instead.
   */
  readonly timeout?: number | undefined;
  /**
   * The answer to a call when Redis does not answer: `"throw"` (default) throws a
   * `StoreUnavailableError`, `"allow"` and `"deny"` return a decision whose `source` is `"policy"`.
   * Resets and contention throw in any case.
   */
  readonly onUnavailable?: "throw" | "allow" | "deny" | undefined;
  /**
   * Called when a server stops answering, with the reason, and when it answers again, whatever the
   * policy is. In a cluster each node has outages of its own. What it throws is printed, once.
   */
  readonly onOutage?: ((outage: Outage) => void) | undefined;
  /**
   * The most calls that may wait for a connection; in a cluster, for the connection to each node. A
   * positive integer; default 10,000.
   */
  readonly maxPending?: number | undefined;
  /**
   * The answer to a call when `maxPending` calls wait: `"throw"` (default) throws a
   * `StoreOverloadedError`, `"deny"` returns a refusal whose `source` is `"policy"`. It never
   * admits.
   */
  readonly onOverload?: "throw" | "deny" | undefined;
  /**
   * Connections to a server, or to each node of a cluster, each with batches of its own. With
   * `"watch"` in a cluster a transaction holds keys of one slot, so this is how many slots of a
   * node are under way at a time; otherwise a key always has the same connection. From 1 to 64;
   * default 1, because large batches cost less than small ones, and 16 with `"watch"` in a cluster.
   */
  readonly connections?: number | undefined;
  /**
   * About how many bytes cas mode may use for each server, to remember the values that it expects
   * there; a positive integer; default 64 MiB, some 250,000 keys. Other keys cost a second round
   * trip.
   */
  readonly cacheBytes?: number | undefined;
  /**
   * The part of a key that decides its hash slot in a cluster; without it, the whole key. Keys of
   * one tag can be taken together by `consumeAll`.
   */
  readonly hashTag?: ((key: string) => string) | undefined;
}

/** The options, with their defaults. */
export type ReadOptions =
  & Pick<RedisStoreOptions, Optional>
  & {
    [Option in keyof Omit<RedisStoreOptions, Optional>]-?: NonNullable<RedisStoreOptions[Option]>;
  };

/** Options without a default. */
type Optional = "hashTag" | "connections" | "onOutage";

/** Checks the options, and fills in the defaults. */
export function readRedisOptions(options: RedisStoreOptions): ReadOptions {
  checkOptions<RedisStoreOptions>("create redisStore", options, {
    commit: oneOf("watch", "cas", "script", "auto"),
    time: oneOf("server", "client"),
    ...ENGINE_CHECKS,
    connectDeadline: integerFrom(1, LONGEST_TIMER),
    connections: integerFrom(1, 64),
    hashTag: checkFunction,
  });
  const common = engineOptions(options);
  return {
    ...common,
    commit: options.commit ?? "auto",
    time: options.time ?? "server",
    connectDeadline: options.connectDeadline ?? common.connectDeadline,
    connections: options.connections,
    hashTag: options.hashTag,
  };
}
