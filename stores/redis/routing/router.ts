import type { Job } from "../batches/job.ts";

/** Brings each call to the node that has its keys. */
export interface Router {
  /** The hash slot of a stored key; 0 on a single server. */
  slotOf(key: string): number;
  /** Takes a call in. */
  submit(job: Job): void;
  /** Milliseconds until a server that failed is asked again; 0 if none did. */
  untilProbe(slot: number): number;
  /** Tells all that wait that the store is closed, and ends every connection. */
  close(): void;
}
