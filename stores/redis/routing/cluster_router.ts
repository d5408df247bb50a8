/*
 * Brings each call of a cluster to the node that has its slot. In watch mode a transaction holds keys
 * of one slot, and a node has several connections; in cas mode a batch holds script
 * calls for many slots.
 *
 * A node that fails opens its breaker, and calls on its slots renew the map of slots. Nothing runs in
 * the background: a call that comes is what renews the map.
 */

import { circuitBreaker, untilProbe } from "../connections/circuit_breaker.ts";
import { clusterDials, type NodeRedisCluster } from "../clients/cluster_dial.ts";
import { renewSlots } from "./cluster_map.ts";
import type { Cluster } from "./cluster.ts";
import { nodeAt, renewMapSoon } from "./cluster_nodes.ts";
import { hashSlot } from "./hash_slot.ts";
import type { Job } from "../batches/job.ts";
import { redirect } from "./redirects.ts";
import type { Router } from "./router.ts";
import type { StoreContext } from "../store_context.ts";
import { storeClosed } from "../failures/batch_failure.ts";
import { takeUnrouted, waitForRoute } from "./unrouted_calls.ts";

/** Makes the router of a cluster. */
export function clusterRouter(
  client: NodeRedisCluster,
  context: StoreContext,
): Router {
  const { failJobs } = context;
  const cluster: Cluster = {
    dials: clusterDials(client, context.connectDeadline),
    slots: { owners: [], nodes: [] },
    renewal: undefined,
    renewalAt: 0,
    breaker: circuitBreaker(),
    nodes: new Map(),
    context,
    submit,
    moved: (jobs, error) => redirect(cluster, jobs, error),
    unrouted: [],
    findsRoutes: false,
    closed: false,
  };

  function submit(job: Job): void {
    if (cluster.closed) return failJobs([job], "no", storeClosed());
    const address = cluster.slots.owners[job.slot];
    if (address === undefined) return waitForRoute(cluster, job);
    const node = nodeAt(cluster, address);
    if (node.breaker.failures > 0) renewMapSoon(cluster);
    node.submit(job);
  }

  return {
    slotOf: hashSlot,
    async masters() {
      await renewSlots(cluster);
      const owners = new Set(cluster.slots.owners.filter((address) => address !== undefined));
      return [...owners].map(cluster.dials.nodeAt);
    },
    submit,
    untilProbe(slot) {
      const address = cluster.slots.owners[slot];
      if (address === undefined) return untilProbe(cluster.breaker);
      const node = cluster.nodes.get(address);
      return node === undefined ? 0 : untilProbe(node.breaker);
    },
    close() {
      cluster.closed = true;
      for (const node of cluster.nodes.values()) node.close();
      failJobs(takeUnrouted(cluster), "no", storeClosed());
    },
  };
}
