/*
 * Brings each call of a cluster to the node that has its slot. In watch mode a transaction holds keys
 * of one slot, and a node has several connections; in cas mode a batch holds script
 * calls for many slots.
 *
 * A node that fails opens its breaker, and calls on its slots renew the map of slots. Nothing runs in
 * the background: a call that comes is what renews the map.
 */

import { circuitBreaker, untilProbe } from "../connections/circuit_breaker.ts";
import type { Dial } from "../clients/connection.ts";
import type { NodeRedisCluster } from "../clients/cluster_dial.ts";
import type { BatcherPool } from "./batcher_pool.ts";
import { clusterMap, ownerOf, renewSlots } from "./cluster_map.ts";
import { type Cluster, isFailing, nodeAt, renewMapSoon } from "./cluster_nodes.ts";
import { hashSlot } from "./hash_slot.ts";
import type { Job } from "../batches/job.ts";
import type { Commit } from "../commit/choose_commit.ts";
import { redirect } from "./redirects.ts";
import type { Router } from "./router.ts";
import type { StoreContext } from "../store_context.ts";
import { storeClosed } from "../failures/batch_failure.ts";
import { closeUnrouted, unroutedCalls, waitForRoute } from "./unrouted_calls.ts";

/** Makes the router of a cluster. */
export function clusterRouter(
  client: NodeRedisCluster,
  commit: Commit | "auto",
  context: StoreContext,
): Router {
  const nodes = new Map<string, BatcherPool>();
  const map = clusterMap(client, context.connectDeadline, (address) => isFailing(nodes, address));
  const unrouted = unroutedCalls();
  const cluster: Cluster = {
    map,
    nodes,
    commit,
    context,
    moved: (jobs, error) => redirect(cluster, submit, jobs, error),
    breaker: circuitBreaker(),
    renewalAt: 0,
    closed: false,
  };

  function submit(job: Job): void {
    if (cluster.closed) return context.failJobs([job], "no", storeClosed());
    const address = ownerOf(map, job.slot);
    if (address === undefined) return waitForRoute(unrouted, job, cluster, submit);
    const node = nodeAt(cluster, address);
    if (node.breaker.failures > 0) renewMapSoon(cluster);
    node.submit(job);
  }

  function untilProbeOf(slot: number): number {
    const address = ownerOf(map, slot);
    if (address === undefined) return untilProbe(cluster.breaker);
    const node = nodes.get(address);
    return node === undefined ? 0 : untilProbe(node.breaker);
  }

  function close(): void {
    cluster.closed = true;
    map.closed = true;
    for (const node of nodes.values()) node.close();
    closeUnrouted(unrouted, cluster);
  }

  async function masters(): Promise<readonly Dial[]> {
    await renewSlots(map);
    const owners = new Set(map.known.owners.filter((address) => address !== undefined));
    return [...owners].map(map.dials.nodeAt);
  }

  return { slotOf: hashSlot, masters, submit, untilProbe: untilProbeOf, close };
}
