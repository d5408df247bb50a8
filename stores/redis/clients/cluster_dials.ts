import type { Dial } from "./connection.ts";

/** How to dial the nodes of a cluster. */
export interface ClusterDials {
  /** The nodes that its options name. */
  readonly roots: readonly Dial[];
  /** A node at an address that another one has named: host and port. */
  readonly nodeAt: (address: string) => Dial;
}
