/*
 * One interface for a single server and for a cluster, so that the rest of the store does not know
 * which of the two it uses.
 */

import type { Dial } from "../clients/connection.ts";
import type { Job } from "../../optimistic/job.ts";

/** Brings each call to the node that has its keys. */
export interface Router {
  /** The hash slot of a stored key; 0 on a single server. */
  slotOf(key: string): number;
  /** Whether keys lie in several slots. */
  readonly hasSlots: boolean;
  /** The dials of all masters. */
  masters(): Promise<readonly Dial[]>;
  /** Accepts a call. */
  submit(job: Job): void;
  /** Milliseconds until the next probe of a failed server; 0 if no server has failed. */
  untilProbe(slot: number): number;
  /** Closes every connection, and fails all waiting calls, because the store is closed. */
  close(): void;
}
