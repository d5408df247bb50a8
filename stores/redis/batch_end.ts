import type { Job } from "./job.ts";
import type { Trouble } from "./trouble.ts";

/** What became of the calls of a batch that were not answered in it. */
export interface BatchEnd {
  /** Lost the race for a key, and were not applied. */
  readonly conflicted: readonly Job[];
  /** Were not applied, because of the trouble. */
  readonly unapplied: readonly Job[];
  /** May have been applied, and may not. */
  readonly unsure: readonly Job[];
  /** Why it ended early. */
  readonly trouble: Trouble | undefined;
}

/** All were answered. */
export const ALL_ANSWERED: BatchEnd = {
  conflicted: [],
  unapplied: [],
  unsure: [],
  trouble: undefined,
};

/** None of these was applied. */
export function notApplied(jobs: readonly Job[], trouble: Trouble): BatchEnd {
  return { ...ALL_ANSWERED, unapplied: jobs, trouble };
}
