import type { Dial } from "./connection.ts";

/** How to dial the nodes of a cluster. */
export interface ClusterDials {
  /** The nodes that its options name. */
  readonly roots: readonly Dial[];
  /** Dials the node at an address (host and port) that another node has named. */
  readonly nodeAt: (address: string) => Dial;
}
