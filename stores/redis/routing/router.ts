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
  /** How to connect to each server that has keys to write. */
  masters(): Promise<readonly Dial[]>;
  /** Takes a call in. */
  submit(job: Job): void;
  /** Milliseconds until the next probe of a server that failed; 0 if none did. */
  untilProbe(slot: number): number;
  /** Fails all calls that wait, because the store is closed, and closes every connection. */
  close(): void;
}
