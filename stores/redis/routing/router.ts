/*
 * One interface for a single server and for a cluster, so that the rest of the store does not know
 * which of the two it uses.
 */

import type { Dial } from "../clients/connection.ts";
import type { JobRouter } from "../../optimistic/optimistic_store.ts";

/** Brings each call to the node that has its keys. */
export interface Router extends JobRouter {
  /** Whether keys lie in several slots. */
  readonly hasSlots: boolean;
  /** The dials of all masters. */
  masters(): Promise<readonly Dial[]>;
  /** Milliseconds until the next probe of a failed server; 0 if no server has failed. */
  untilProbe(slot: number): number;
}
