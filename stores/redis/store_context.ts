/*
 * Every part of a store receives this one object, so no state is global, and several stores in a
 * process do not affect each other.
 */

import type { ContendedKeys } from "./commit/claims.ts";
import type { EngineContext } from "../optimistic/engine_context.ts";
import type { ValueCache } from "../optimistic/value_cache.ts";
import type { Outage } from "../optimistic/circuit_breaker.ts";
import type { ReadOptions } from "./redis_options.ts";
import type { ServerClock } from "../optimistic/server_clock.ts";
import type { RedisCounters } from "./statistics.ts";

/** The context that all parts of one store share: its options, cache, clock and counters. */
export interface StoreContext extends ReadOptions, EngineContext {
  /** Whether the server's clock decides; otherwise `Date.now`. */
  readonly useServerTime: boolean;
  /** The name by which it signs claims: see commit/claims.ts. */
  readonly owner: string;
  /** Keys that it claims. */
  readonly contended: ContendedKeys;
  readonly values: ValueCache;
  readonly clock: ServerClock;
  readonly counters: RedisCounters;
  /** Receives the outages that breakers notice. */
  reportOutage(outage: Outage): void;
}
