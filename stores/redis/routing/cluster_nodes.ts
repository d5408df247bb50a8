/*
 * What is known of a cluster: who has which slot, and the nodes in use. Each node has batchers and
 * connections of its own, and a clock and a cache of its own, as no two nodes have the same time and
 * the same values.
 */

import { valueCache } from "../batches/value_cache.ts";
import { serverClock } from "../connections/server_clock.ts";
import type { StoreContext } from "../store_context.ts";
import { type BatcherPool, batcherPool } from "./batcher_pool.ts";
import type { Cluster } from "./cluster.ts";
import { renewSlots } from "./cluster_map.ts";

/** The most milliseconds between two questions for the map while there is reason to ask. */
const RENEW_EVERY = 250;

/** How many connections to a node, and so transactions at a time, where the options do not say. */
const WATCHING = 16;

/** The node at an address. */
export function nodeAt(
  { nodes, dials, context, moved }: Cluster,
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
    const { commit, connections = commit === "watch" ? WATCHING : 1 } = context;
    const dial = dials.nodeAt(address);
    node = batcherPool(dial, own, connections, undefined, moved);
    nodes.set(address, node);
  }
  return node;
}

/** Renews the map, and closes connections to nodes that have no slot any more. */
export async function renewMap(cluster: Cluster): Promise<void> {
  const { nodes, breaker } = cluster;
  await renewSlots(cluster);
  breaker.hasConnected = true;
  const owners = new Set(cluster.slots.owners);
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
