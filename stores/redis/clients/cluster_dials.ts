import type { Dial } from "./connection.ts";

/** How to dial the nodes of a cluster. */
export interface ClusterDials {
  /** How to dial the nodes that the cluster's options name. */
  readonly roots: readonly Dial[];
  /** Dials the node at an address (host and port) that another node has named. */
  readonly nodeAt: (address: string) => Dial;
}
