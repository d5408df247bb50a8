/*
 * The engine's view of its store. Every part of a store receives this one object, so no state is
 * global, and several stores in a process do not affect each other.
 */

import type { Job } from "./job.ts";
import type { ServerCounters } from "./server_statistics.ts";

/** A store, as the engine sees it. */
export interface EngineContext {
  /** Milliseconds that a round trip may take, at least and at most: see round_trips.ts. */
  readonly deadline: number;
  readonly longestDeadline: number;
  /** Milliseconds that connecting may take before the first connection. */
  readonly connectDeadline: number;
  /** Milliseconds that a call may take in all. */
  readonly timeout: number;
  /** The most calls that may wait. */
  readonly maxPending: number;
  readonly counters: ServerCounters;
  /**
   * Answers calls that the server does not decide: with an error, or by the store's policy.
   */
  failJobs(jobs: readonly Job[], applied: "no" | "unknown", cause: Error): void;
  /** Fails calls on a closed store, whatever its policy. Nothing was charged. */
  closeJobs(jobs: readonly Job[]): void;
  /** Answers a call that comes while `maxPending` wait. */
  refuseJob(job: Job): void;
}
