/*
 * Decides how the batch of a call is committed. A batch can hold calls of both scripts (see
 * comparing_jobs.ts): only what has to be watched needs a batch of its own.
 */

import type { Job } from "../batches/job.ts";

/** How batches are committed. */
export type Commit = "watch" | "cas" | "script";

/** How the batch of a call is committed in a mode: as the mode says, unless it has to be watched. */
export function chooseCommit({ watched }: Job, mode: Commit): Commit {
  return watched ? "watch" : mode;
}
