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
  /** Were not applied, because of the failure. */
  readonly unapplied: readonly Job[];
  /** May have been applied, and may not. */
  readonly unknown: readonly Job[];
  /** Why it ended early. */
  readonly failure: BatchFailure | undefined;
  /** Calls to which the server replied an error that is theirs. */
  readonly rejections: readonly Rejection[];
}

/** Calls of one transaction or one script call, and the error that the server replied to it. */
export interface Rejection {
  readonly jobs: readonly Job[];
  readonly error: Error;
}

/** All were answered. */
export const ALL_ANSWERED: BatchOutcome = {
  conflicted: [],
  unapplied: [],
  unknown: [],
  failure: undefined,
  rejections: [],
};

/** None of these was applied. */
export function notApplied(jobs: readonly Job[], failure: BatchFailure): BatchOutcome {
  if (failure.kind === "rejected") {
    return { ...ALL_ANSWERED, rejections: [{ jobs, error: failure.error }] };
  }
  return { ...ALL_ANSWERED, unapplied: jobs, failure };
}
