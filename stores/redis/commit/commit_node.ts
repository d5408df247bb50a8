import type { RoundTripNode } from "../connections/round_trip.ts";

/** A connection, as commits see it. */
export interface CommitNode extends RoundTripNode {
  /** Whether keys of an earlier batch are still watched on it. */
  watching: boolean;
}
