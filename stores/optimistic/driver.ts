/*
 * The engine's contract with a server: connections that commit batches. Redis has a connection for
 * each node. A driver of another database has a `connect`, and a `commit` with these steps:
 *
 *   load      the texts that its cells hold, or are expected to hold (`loadCell`)
 *   decide    all calls at the server's time (`decideBatch`), which finds the texts to write
 *   write     the changed cells (`isReplaced`), if their texts are still the same; cells that calls tie
 *             together are written as one (`groupsOf`)
 *   report    each call once: answered, lost, or failed
 */

import type { Batch } from "./batch.ts";
import type { BatchFailure } from "./batch_failure.ts";
import type { Job } from "./job.ts";

/** The reports of a commit about the calls of its batch; each call is reported once. */
export interface CommitCallbacks {
  /** The values are loaded: from now on no call may join the batch. */
  onLoaded(): void;
  /** These calls are decided. */
  answer(jobs: readonly Job[]): void;
  /** These calls lost the race for a key, and were not applied. */
  tryAgain(jobs: readonly Job[]): void;
  /** These calls left a key to a process that has claimed it, and were not applied. */
  waitFor(jobs: readonly Job[]): void;
  /** These calls failed together: they share one transaction or one script call. */
  fail(jobs: readonly Job[], failure: BatchFailure): void;
}

/** A connection that commits batches. Once it is lost, it stays lost. */
export interface Link {
  /** Whether it is still open. */
  readonly open: boolean;
  /**
   * Whether a batch is a transaction of the connection. There is then one at a time, on keys of one
   * slot, and calls may join it while it is loaded. Otherwise several may be under way, in their
   * order.
   */
  readonly exclusive: boolean;
  /**
   * The most batches under way; default 4. It must be 1 if the server may run them in another order.
   */
  readonly mostBatches?: number | undefined;
  /** Commits a batch. */
  commit(batch: Batch, callbacks: CommitCallbacks): Promise<void>;
  /**
   * Prepares for the next batch, if there is anything to prepare. It is called with no batch under
   * way.
   */
  refresh?(): Promise<void> | undefined;
  /** Ends it at once, and rejects every batch that still waits for a reply. */
  destroy(): void;
}

/** Makes a connection, or rejects with the error that prevented it. */
export type Connect = () => Promise<Link>;
