/*
 * What comes of a batch: how a commit answers calls on the way, and what it reports of those that it
 * could not answer.
 */

import type { Job } from "./job.ts";
import type { BatchFailure } from "../failures/batch_failure.ts";

/** What a commit reports while it is under way. */
export interface Watcher {
  /** Called when the values are there: from now on no call may join the batch. */
  readonly onLoaded: () => void;
  /** Answers calls that are decided. */
  readonly answer: (jobs: readonly Job[]) => void;
}

/** What became of the calls of a batch that were not answered in it. */
export interface BatchOutcome {
  /** Lost the race for a key, and were not applied. */
  readonly conflicted: readonly Job[];
  readonly failed: readonly FailedCalls[];
}

/** Calls of one transaction or one script call, and why they failed. */
export interface FailedCalls extends BatchFailure {
  readonly jobs: readonly Job[];
}

/** All were answered. */
export const ALL_ANSWERED: BatchOutcome = { conflicted: [], failed: [] };

/** These failed together. */
export function failedTogether(
  jobs: readonly Job[],
  failure: BatchFailure,
  applied: BatchFailure["applied"] = failure.applied,
): BatchOutcome {
  return { conflicted: [], failed: [{ ...failure, applied, jobs }] };
}
