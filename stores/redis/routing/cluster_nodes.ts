/*
 * What is known of a cluster: who has which slot, and the nodes in use. Each node has a batcher and a
 * connection of its own, and a clock and a cache of its own, as no two nodes have the same time and
 * the same values.
 */

import { type Batcher, batcher } from "../batches/batcher.ts";
import type { Job } from "../batches/job.ts";
import { valueCache } from "../batches/value_cache.ts";
import type { CircuitBreaker } from "../connections/circuit_breaker.ts";
import type { Commit } from "../commit/choose_commit.ts";
import { reconnector } from "../connections/reconnector.ts";
import { serverClock } from "../connections/server_clock.ts";
import type { BatchFailure } from "../failures/batch_failure.ts";
import type { StoreContext } from "../store_context.ts";
import { type ClusterMap, renewSlots } from "./cluster_map.ts";

/** The most milliseconds between two questions for the map while there is reason to ask. */
const RENEW_EVERY = 250;

/** A node in use. */
export interface ClusterNode {
  readonly batcher: Batcher;
  readonly breaker: CircuitBreaker;
}

/** A cluster, as far as it is known. */
export interface Cluster {
  readonly map: ClusterMap;
  /** The nodes in use, by their addresses. */
  readonly nodes: Map<string, ClusterNode>;
  readonly commit: Commit | "auto";
  readonly context: StoreContext;
  /** Receives calls that a node sent elsewhere. */
  readonly moved: (jobs: readonly Job[], failure: BatchFailure) => void;
  /** Whether the cluster says who has which slot. */
  readonly breaker: CircuitBreaker;
  /** From when on the map may be renewed. */
  renewalAt: number;
  closed: boolean;
}

/** The node at an address. */
export function nodeAt(
  { nodes, map, commit, context, moved }: Cluster,
  address: string,
): ClusterNode {
  let node = nodes.get(address);
  if (node === undefined) {
    const own: StoreContext = {
      ...context,
      clock: serverClock(),
      values: valueCache(context.cacheBytes),
    };
    const server = reconnector(map.dials.nodeAt(address), commit, own);
    nodes.set(address, node = { batcher: batcher(server, moved), breaker: server.breaker });
  }
  return node;
}

/** Whether a node failed when it was last used. */
export function isFailing(nodes: ReadonlyMap<string, ClusterNode>, address: string): boolean {
  const node = nodes.get(address);
  return node !== undefined && node.breaker.failures > 0;
}

/** Renews the map, and closes connections to nodes that have no slot any more. */
export async function renewMap({ map, nodes, breaker }: Cluster): Promise<void> {
  await renewSlots(map);
  breaker.hasConnected = true;
  const owners = new Set(map.known.owners);
  for (const [address, { batcher }] of nodes) {
    if (owners.has(address) || !batcher.isIdle()) continue;
    batcher.close();
    nodes.delete(address);
  }
}

/** Renews the map unless that was done a moment ago; nobody waits for it. */
export function renewMapSoon(cluster: Cluster): void {
  const now = performance.now();
  if (now < cluster.renewalAt) return;
  cluster.renewalAt = now + RENEW_EVERY * (0.5 + Math.random() / 2);
  renewMap(cluster).catch(() => {});
}

/** Why nobody waits longer for the map. */
export function mapTimeout(milliseconds: number): () => never {
  return () => {
    throw new Error(`The cluster did not tell its slots within ${milliseconds} ms`);
  };
}
