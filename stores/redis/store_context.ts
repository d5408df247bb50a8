import type { Job } from "./batches/job.ts";
import type { ValueCache } from "./batches/value_cache.ts";
import type { ReadOptions } from "./redis_options.ts";
import type { ServerClock } from "./connections/server_clock.ts";
import type { RedisCounters } from "./statistics.ts";

/** What all parts of one store share: its limits in time and number, its caches and its figures. */
export interface StoreContext extends ReadOptions {
  /** Whether the server's clock decides; otherwise `Date.now`. */
  readonly useServerTime: boolean;
  readonly values: ValueCache;
  readonly clock: ServerClock;
  readonly counters: RedisCounters;
  /** Answers calls that Redis does not decide: by an error, or as the store's policy says. */
  failJobs(jobs: readonly Job[], applied: "no" | "unknown", cause: Error): void;
  /** Answers a call that comes while `maxPending` wait. */
  refuseJob(job: Job): void;
}
