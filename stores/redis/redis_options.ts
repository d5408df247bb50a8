/*
 * The options of `redisStore`, their checks and their defaults, so that the rest of the store
 * works with complete and valid values.
 */

import type { Outage } from "../optimistic/circuit_breaker.ts";
import { LONGEST_TIMER } from "../../core/clock.ts";
import { checkFunction, checkOptions, integerFrom } from "../../core/options/checks.ts";
import {
  ENGINE_CHECKS,
  type EngineOptions,
  engineOptions,
  oneOf,
} from "../optimistic/engine_options.ts";

/** The options of `redisStore`. */
export interface RedisStoreOptions {
  /**
   * The way to commit a batch of decisions. `"auto"` (default): the first of `"script"`, `"cas"` and
   * `"watch"` that the server permits; `statistics()` tells which. `"watch"`: WATCH, MULTI and EXEC,
   * in two round trips, on every server. `"cas"`: a script that compares and sets, in one round trip
   * unless another client changed the key; conflicts are per key. `"script"`: the reducer's state
   * transition, in Lua, runs in Redis, in one round trip and without conflicts. Windows over
   * timelines, logs and custom algorithms then use `"cas"`.
   */
  readonly commit?: "watch" | "cas" | "script" | "auto" | undefined;
  /**
   * The clock that decides. `"server"` (default): the clock of Redis, and in cas mode an estimate of
   * it that is off by at most half a round trip. `"client"`: `Date.now`.
   */
  readonly time?: "server" | "client" | undefined;
  /**
   * Milliseconds that one round trip may take; from 1 to 2^31 - 1. By default it follows the round
   * trips that were seen, between 200 and `timeout`. After that time, new calls fail at once. After
   * twice that time, the store gives the connection up.
   */
  readonly deadline?: number | undefined;
  /**
   * The most milliseconds that connecting may take; from 1 to 2^31 - 1; default 1,000, or the
   * deadline if that is more. Only calls before the first connection to a server wait that long.
   */
  readonly connectDeadline?: number | undefined;
  /**
   * The most milliseconds that a call may take in all, including its time in the queue, all round
   * trips and all tries; from 1 to 2^31 - 1; default 250, or the deadline if that is more. During the
   * first connection to a server, `connectDeadline` counts instead.
   */
  readonly timeout?: number | undefined;
  /**
   * The answer to a call when Redis does not answer: `"throw"` (default) throws a
   * `StoreUnavailableError`, `"allow"` and `"deny"` return a decision whose `source` is `"policy"`.
   * Resets and contention throw in any case.
   */
  readonly onUnavailable?: "throw" | "allow" | "deny" | undefined;
  /**
   * Called when a server stops answering, with the reason, when the reason changes, and when it
   * answers again, whatever the policy. In a cluster each node has
   * outages of its own. An error that it throws is printed, once. By default
   * the store prints a line by `console.warn` at the beginning and at the end of each outage.
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
   * `"watch"` in a cluster a transaction holds keys of one slot, so this is the number of slots of a
   * node that are under way at a time. Otherwise a key always has the same connection. From 1 to 64;
   * default 1, because large batches cost less than small ones, and 16 with `"watch"` in a cluster.
   */
  readonly connections?: number | undefined;
  /**
   * Roughly the most bytes that cas mode uses for each server, to remember the values that it expects
   * there; a positive integer; default 64 MiB, some 250,000 keys. A key that is not remembered costs a
   * second round trip.
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
  & Pick<EngineOptions, "longestDeadline">
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
