/*
 * All that the engine needs of a server: connections on which batches are committed. Redis has one for
 * each node; a driver of another database writes a `connect`, and a `commit` that does with a batch
 *
 *   load      the texts that its cells hold, or are thought to hold (`loadCell`)
 *   decide    all calls at the server's time (`decideBatch`), which says what is to be written
 *   write     what changed (`isReplaced`), if the texts are still the same; keys that calls tie together
 *             as one (`groupsOf`)
 *   report    each call once: answered, lost, or failed
 */

import type { Batch } from "./batch.ts";
import type { BatchFailure } from "./batch_failure.ts";
import type { Job } from "./job.ts";

/** The reports of a commit about the calls of its batch; each call is reported once. */
export interface CommitCallbacks {
  /** The values are there: from now on no call may join the batch. */
  onLoaded(): void;
  /** These are decided. */
  answer(jobs: readonly Job[]): void;
  /** These lost the race for a key, and were not applied. */
  tryAgain(jobs: readonly Job[]): void;
  /** These left a key to others who have claimed it, and were not applied. */
  waitFor(jobs: readonly Job[]): void;
  /** These failed together: calls of one transaction, or of one script call. */
  fail(jobs: readonly Job[], failure: BatchFailure): void;
}

/** A connection that batches are committed on. It lives once: when it is lost, it stays lost. */
export interface Link {
  /** Whether it still lives. */
  readonly open: boolean;
  /**
   * Whether a batch is a transaction of the connection: of one slot, one at a time, and calls may join
   * it while it is loaded. Otherwise several may be under way, in their order.
   */
  readonly exclusive: boolean;
  /** The most batches under way; 4 without it. One where they might be carried out in another order. */
  readonly mostBatches?: number | undefined;
  /** Commits a batch. */
  commit(batch: Batch, callbacks: CommitCallbacks): Promise<void>;
  /** Prepares for the next batch, if there is anything to prepare; none is under way. */
  refresh?(): Promise<void> | undefined;
  /** Ends it at once: whatever still waits for a reply is rejected. */
  destroy(): void;
}

/** Makes a connection; rejects with the reason why there is none. */
export type Connect = () => Promise<Link>;
