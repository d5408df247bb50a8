import type { Job } from "./batches/job.ts";
import type { ValueCache } from "./batches/value_cache.ts";
import type { ServerClock } from "./connections/server_clock.ts";
import type { RedisCounters } from "./statistics.ts";

/** What all parts of one store share: its limits in time and number, its caches and its figures. */
export interface StoreContext {
  /** The most milliseconds that one round trip may take. */
  readonly deadline: number;
  /** The most milliseconds that connecting may take. */
  readonly connectDeadline: number;
  /** Whether the server's clock decides; otherwise `Date.now`. */
  readonly useServerTime: boolean;
  /** The most milliseconds that a call may take in all. */
  readonly timeout: number;
  /** The most calls that may wait for a connection. */
  readonly maxPending: number;
  /** How many connections to a server; `undefined` if the options do not say. */
  readonly connections: number | undefined;
  /** The most bytes of values that are remembered of one server. */
  readonly cacheBytes: number;
  readonly values: ValueCache;
  readonly clock: ServerClock;
  readonly counters: RedisCounters;
  /** Answers calls that Redis does not decide: by an error, or as the store's policy says. */
  failJobs(jobs: readonly Job[], applied: "no" | "unknown", cause: Error): void;
  /** Answers a call that comes while `maxPending` wait. */
  refuseJob(job: Job): void;
}
