/*
 * The options of `redisStore`, their checks and their defaults, so that the rest of the store
 * works with complete and valid values.
 */

import { LONGEST_TIMER } from "../../core/clock.ts";
import { checkFunction, checkOptions, integerFrom, oneOf } from "../../core/options/checks.ts";
import {
  type DriverStoreOptions,
  ENGINE_CHECKS,
  type EngineOptions,
  engineOptions,
} from "../optimistic/engine_options.ts";

/** The options of `redisStore`. */
export interface RedisStoreOptions extends DriverStoreOptions {
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
   * The most milliseconds that connecting may take; from 1 to 2^31 - 1; default 1,000, or the
   * deadline if that is more. Only calls before the first connection to a server wait that long, in
   * place of `timeout`.
   */
  readonly connectDeadline?: number | undefined;
  /**
   * Connections to a server, or to each node of a cluster, each with batches of its own. With
   * `"watch"` in a cluster a transaction holds keys of one slot, so this is the number of slots of a
   * node that are under way at a time. Otherwise a key always has the same connection. From 1 to 64;
   * default 1, because large batches cost less than small ones, and 16 with `"watch"` in a cluster.
   */
  readonly connections?: number | undefined;
  /**
   * The part of a key that decides its hash slot in a cluster; without it, the whole key. Keys of
   * one tag can be taken together by `consumeAll`.
   */
  readonly hashTag?: ((key: string) => string) | undefined;
}

/** The options, with their defaults. */
export type ReadOptions =
  & EngineOptions
  & Pick<RedisStoreOptions, "hashTag" | "connections">
  & { readonly [Option in "commit" | "time"]: NonNullable<RedisStoreOptions[Option]> };

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
