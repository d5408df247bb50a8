import type { Job } from "./batches/job.ts";
import type { ValueCache } from "./batches/value_cache.ts";
import type { ServerClock } from "./connections/server_clock.ts";

/** Counted since the store was made. */
export interface RedisCounters {
  decisions: number;
  batches: number;
  roundTrips: number;
  conflicts: number;
  contended: number;
  unavailable: number;
  connections: number;
  unreadable: number;
}

/** What all parts of one store share. */
export interface StoreContext {
  /** The most milliseconds that one round trip may take. */
  readonly deadline: number;
  /** The most milliseconds that dialling may take. */
  readonly dialDeadline: number;
  /** Whether the server says what time it is; otherwise `Date.now` does. */
  readonly askTime: boolean;
  /** The most calls that may wait for a connection. */
  readonly maxPending: number;
  /** How many connections to a single server. */
  readonly connections: number;
  readonly values: ValueCache;
  readonly clock: ServerClock;
  readonly counters: RedisCounters;
  /** Tells calls that Redis does not decide them: by an error, or as the store's policy has it. */
  failJobs(jobs: readonly Job[], applied: "no" | "unknown", cause: Error): void;
}
