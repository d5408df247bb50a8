/*
 * What is known of a cluster: who has which slot, and the nodes in use. Each node has batchers and
 * connections of its own, and a clock and a cache of its own, as no two nodes have the same time and
 * the same values.
 */

import type { Job } from "../batches/job.ts";
import { valueCache } from "../batches/value_cache.ts";
import type { CircuitBreaker } from "../connections/circuit_breaker.ts";
import type { Commit } from "../commit/choose_commit.ts";
import { serverClock } from "../connections/server_clock.ts";
import type { StoreContext } from "../store_context.ts";
import { type BatcherPool, batcherPool } from "./batcher_pool.ts";
import { type ClusterMap, renewSlots } from "./cluster_map.ts";

/** The most milliseconds between two questions for the map while there is reason to ask. */
const RENEW_EVERY = 250;

/** How many connections to a node, and so transactions at a time, where the options do not say. */
const WATCHING = 16;

/** A cluster, as far as it is known. */
export interface Cluster {
  readonly map: ClusterMap;
  /** The nodes in use, by their addresses. */
  readonly nodes: Map<string, BatcherPool>;
  readonly commit: Commit | "auto";
  readonly context: StoreContext;
  /** Receives calls that a node sent elsewhere. */
  readonly moved: (jobs: readonly Job[], error: Error) => void;
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
): BatcherPool {
  let node = nodes.get(address);
  if (node === undefined) {
    const own: StoreContext = {
      ...context,
      clock: serverClock(),
      values: valueCache(context.cacheBytes),
    };
    // A watched transaction holds keys of one slot, so one after the other is slow.
    const { connections = commit === "watch" ? WATCHING : 1 } = context;
    const dial = map.dials.nodeAt(address);
    node = batcherPool(dial, commit, own, connections, undefined, moved);
    nodes.set(address, node);
  }
  return node;
}

/** Whether a node failed when it was last used. */
export function isFailing(nodes: ReadonlyMap<string, BatcherPool>, address: string): boolean {
  const node = nodes.get(address);
  return node !== undefined && node.breaker.failures > 0;
}

/** Renews the map, and closes connections to nodes that have no slot any more. */
export async function renewMap({ map, nodes, breaker }: Cluster): Promise<void> {
  await renewSlots(map);
  breaker.hasConnected = true;
  const owners = new Set(map.known.owners);
  for (const [address, node] of nodes) {
    if (owners.has(address) || !node.isIdle()) continue;
    node.close();
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
    throw new Error(`The cluster did not report its slots within ${milliseconds} ms`);
  };
}
