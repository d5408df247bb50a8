/*
 * Every part of a store receives this one object, so no state is global, and several stores in a
 * process do not affect each other.
 */

import type { ContendedKeys } from "./commit/claims.ts";
import type { Job } from "./batches/job.ts";
import type { ValueCache } from "./batches/value_cache.ts";
import type { Outage } from "./connections/circuit_breaker.ts";
import type { ReadOptions } from "./redis_options.ts";
import type { ServerClock } from "./connections/server_clock.ts";
import type { RedisCounters } from "./statistics.ts";

/** What all parts of one store share: its options, cache, clock and counters. */
export interface StoreContext extends ReadOptions {
  /** Whether the server's clock decides; otherwise `Date.now`. */
  readonly useServerTime: boolean;
  /** By which it signs claims: see commit/claims.ts. */
  readonly owner: string;
  /** Keys that it claims. */
  readonly contended: ContendedKeys;
  readonly values: ValueCache;
  readonly clock: ServerClock;
  readonly counters: RedisCounters;
  /** Receives what breakers notice. */
  reportOutage(outage: Outage): void;
  /** Answers calls that Redis does not decide: with an error, or as the store's policy says. */
  failJobs(jobs: readonly Job[], applied: "no" | "unknown", cause: Error): void;
  /** Answers a call that comes while `maxPending` wait. */
  refuseJob(job: Job): void;
}
