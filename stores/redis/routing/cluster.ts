import type { Job } from "../batches/job.ts";
import type { ClusterDials } from "../clients/cluster_dial.ts";
import type { CircuitBreaker } from "../connections/circuit_breaker.ts";
import type { StoreContext } from "../store_context.ts";
import type { BatcherPool } from "./batcher_pool.ts";

/** A cluster, as far as it is known. */
export interface Cluster {
  readonly dials: ClusterDials;
  slots: Slots;
  /** The renewal of the slots under way. */
  renewal: Promise<void> | undefined;
  /** From when on they may be renewed. */
  renewalAt: number;
  /** Whether the cluster says who has which slot. */
  readonly breaker: CircuitBreaker;
  /** The nodes in use, by their addresses. */
  readonly nodes: Map<string, BatcherPool>;
  readonly context: StoreContext;
  /** Takes a call in. */
  readonly submit: (job: Job) => void;
  /** Receives calls that a node sent elsewhere. */
  readonly moved: (jobs: readonly Job[], error: Error) => void;
  /** Calls on slots of which no owner is known. */
  unrouted: Job[];
  /** Whether the slots are being renewed for them. */
  findsRoutes: boolean;
  closed: boolean;
}

/** The slots of a cluster, as far as they are known; addresses are host and port. */
export interface Slots {
  /** The node that has each slot. */
  readonly owners: (string | undefined)[];
  /** Every node, replicas too. */
  readonly nodes: readonly string[];
}
