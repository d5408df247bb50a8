/*
 * Brings each call of a cluster to the node that has its slot. In watch mode a transaction holds keys
 * of one slot, so a node has several connections. In cas mode a batch holds script calls for many
 * slots. Each node has its own batchers and connections. It also has its own clock and cache, because
 * nodes differ in their time and their values.
 *
 * A node that fails opens its breaker, and calls on its slots renew the map of slots. Nothing runs in
 * the background: the map is renewed when a call comes. Calls on slots without a known owner wait in
 * one queue until the cluster has named the owners. That queue has a circuit breaker, too, like a
 * node.
 *
 * | a node replies | then |
 * |---|---|
 * | MOVED | the call goes to the node that it names; the map is renewed soon |
 * | ASK | this call goes to the node that the slot is being moved to, after an ASKING |
 * | TRYAGAIN | keys are in both places: the call is tried again a little later, alone |
 * | CLUSTERDOWN | the call fails as not applied; the map is renewed soon |
 */

import { withTimeout } from "../../../core/with_timeout.ts";
import type { Job } from "../../optimistic/job.ts";
import { valueCache } from "../../optimistic/value_cache.ts";
import { contendedKeys } from "../commit/claims.ts";
import { askingDial } from "../clients/asking_connection.ts";
import type { ClusterDials } from "../clients/connection.ts";
import {
  admitsCall,
  type CircuitBreaker,
  circuitBreaker,
  recordFailure,
  recordSuccess,
  untilProbe,
} from "../../optimistic/circuit_breaker.ts";
import { patientTimer } from "../../optimistic/patient_timer.ts";
import { serverClock } from "../../optimistic/server_clock.ts";
import { asError } from "../../as_error.ts";
import { storeClosedError } from "../../optimistic/batch_failure.ts";
import type { StoreContext } from "../store_context.ts";
import { type BatcherPool, batcherPool } from "./batcher_pool.ts";
import { readSlotMap, type SlotMap } from "./cluster_map.ts";
import { outsideCallers } from "../../outside_callers.ts";
import { hashSlot } from "./hash_slot.ts";
import type { Router } from "./router.ts";
import { performance, setTimeout } from "../../own_timers.ts";

/** The most milliseconds between two renewals of the map, as long as calls ask for one. */
const RENEW_EVERY = 250;

/** The default of connections to a node, and so of transactions at a time. */
const WATCHING = 16;

/** The known parts of a cluster. */
interface Cluster {
  readonly dials: ClusterDials;
  slots: SlotMap;
  /** The renewal of the map that is under way. */
  renewal: Promise<void> | undefined;
  /** The instant from which the map may be renewed again. */
  renewalAt: number;
  /** Whether the cluster names the owners of its slots. */
  readonly breaker: CircuitBreaker;
  /** The nodes in use, by their addresses; connections for ASK redirects are separate. */
  readonly nodes: Map<string, BatcherPool>;
  readonly context: StoreContext;
  /** Calls on slots without a known owner. The first of them renews the map. */
  unrouted: Job[];
  closed: boolean;
}

/** Makes the router of a cluster. */
export function clusterRouter(dials: ClusterDials, context: StoreContext): Router {
  const cluster: Cluster = {
    dials,
    slots: { owners: [], nodes: [] },
    renewal: undefined,
    renewalAt: 0,
    breaker: circuitBreaker(context.reportOutage),
    nodes: new Map(),
    context,
    unrouted: [],
    closed: false,
  };
  return {
    slotOf: hashSlot,
    hasSlots: true,
    async masters() {
      await renewMap(cluster);
      const owners = new Set(cluster.slots.owners.filter((address) => address !== undefined));
      return [...owners].map(cluster.dials.nodeAt);
    },
    submit: (job) => submit(cluster, job),
    untilProbe(slot) {
      const address = cluster.slots.owners[slot];
      if (address === undefined) return untilProbe(cluster.breaker);
      const node = cluster.nodes.get(address);
      return node === undefined ? 0 : untilProbe(node.breaker);
    },
    close() {
      cluster.closed = true;
      for (const node of cluster.nodes.values()) node.close();
      context.closeJobs(drainUnrouted(cluster));
    },
  };
}

function submit(cluster: Cluster, job: Job): void {
  if (cluster.closed) return cluster.context.closeJobs([job]);
  const address = cluster.slots.owners[job.slot];
  if (address === undefined) return waitForRoute(cluster, job);
  const node = nodeAt(cluster, address);
  if (node.breaker.failures > 0) outsideCallers(renewMapSoon, cluster);
  node.submit(job);
}

/** The node at an address. With `asking`, its connections serve slots that are being moved to it. */
function nodeAt(cluster: Cluster, address: string, asking = false): BatcherPool {
  const { nodes, dials, context } = cluster;
  const name = asking ? `${address} asking` : address;
  let node = nodes.get(name);
  if (node === undefined) {
    const clock = serverClock();
    const own = {
      ...context,
      clock,
      contended: contendedKeys(clock.roundTrip, context.timeout),
      values: valueCache(context.cacheBytes),
    };
    // A watched transaction holds keys of one slot, so a single connection would be slow.
    const { commit, connections = commit === "watch" ? WATCHING : 1 } = context;
    const moved = (jobs: readonly Job[], error: Error) => redirect(cluster, jobs, error);
    const dial = dials.nodeAt(address);
    node = batcherPool(asking ? askingDial(dial) : dial, own, connections, undefined, moved);
    nodes.set(name, node);
  }
  return node;
}

/**
 * Renews the map, and closes connections to nodes without slots. There is one renewal at a time,
 * however many calls need it.
 */
function renewMap(cluster: Cluster): Promise<void> {
  return cluster.renewal ??= renew(cluster).finally(() => {
    cluster.renewal = undefined;
  });
}

async function renew(cluster: Cluster): Promise<void> {
  const { dials, nodes, slots, breaker, context } = cluster;
  const isFailing = (address: string) => (nodes.get(address)?.breaker.failures ?? 0) > 0;
  const requireOpen = () => {
    if (cluster.closed) throw storeClosedError();
  };
  const { connectDeadline } = context;
  cluster.slots = await readSlotMap(dials, slots.nodes, isFailing, requireOpen, connectDeadline);
  breaker.hasConnected = true;
  const owners = new Set(cluster.slots.owners);
  for (const [address, node] of nodes) {
    if (owners.has(address) || !node.isIdle()) continue;
    node.close();
    nodes.delete(address);
  }
}

/** Renews the map, unless it was renewed a moment ago. Nobody waits for it. */
function renewMapSoon(cluster: Cluster): void {
  const now = performance.now();
  if (now < cluster.renewalAt) return;
  cluster.renewalAt = now + RENEW_EVERY * (0.5 + Math.random() / 2);
  renewMap(cluster).catch(() => {});
}

/** Lets a call wait until the owner of its slot is known, and then submits it again. */
function waitForRoute(cluster: Cluster, job: Job): void {
  const { unrouted, breaker, context: { maxPending, failJobs, refuseJob } } = cluster;
  if (unrouted.length >= maxPending) return refuseJob(job);
  if (!admitsCall(breaker, false)) return failJobs([job], "no", breaker.cause!);
  if (unrouted.push(job) === 1) void outsideCallers(findRoutes, cluster);
}

/** Renews the map, and submits again all calls whose slots have an owner. */
async function findRoutes(cluster: Cluster): Promise<void> {
  const { breaker, context: { longestDeadline, connectDeadline, failJobs } } = cluster;
  const most = breaker.hasConnected ? longestDeadline : connectDeadline;
  let cause = new Error("No node owns the hash slot of its key");
  const late = () => {
    throw new Error(`The cluster did not report its slots within ${most} ms`);
  };
  try {
    await withTimeout(renewMap(cluster), most, late, patientTimer);
  } catch (error) {
    cause = asError(error);
  }
  const jobs = drainUnrouted(cluster);
  const hasOwner = ({ slot }: Job) => cluster.slots.owners[slot] !== undefined;
  const homeless = jobs.filter((job) => !hasOwner(job));
  if (homeless.length === 0) recordSuccess(breaker);
  else recordFailure(breaker, cause);
  failJobs(homeless, "no", cause);
  for (const job of jobs) if (hasOwner(job)) submit(cluster, job);
}

function drainUnrouted(cluster: Cluster): readonly Job[] {
  const { unrouted } = cluster;
  cluster.unrouted = [];
  return unrouted;
}

/** Takes calls back from a node that could not run them, and submits them where they belong. */
function redirect(cluster: Cluster, returned: readonly Job[], error: Error): void {
  // A call whose time is over ends here, also in a cluster that does not settle.
  const jobs = returned.filter(({ settled }) => !settled);
  const [word, slot, address = ""] = error.message.split(" ");
  if (word === "ASK") askNode(cluster, jobs, address);
  else if (word === "MOVED") {
    cluster.slots.owners[Number(slot)] = address;
    renewMapSoon(cluster);
    submitAll(cluster, jobs);
  } else if (word === "TRYAGAIN") void retryLater(cluster, jobs);
  else {
    renewMapSoon(cluster);
    cluster.context.failJobs(jobs, "no", error);
  }
}

/** Submits calls to the node to which their slot is being moved. */
function askNode(cluster: Cluster, jobs: readonly Job[], address: string): void {
  if (cluster.closed) return cluster.context.closeJobs(jobs);
  const node = nodeAt(cluster, address, true);
  for (const job of jobs) node.submit(job);
}

async function retryLater(cluster: Cluster, jobs: readonly Job[]): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 8));
  // Send each call alone. Together they would be redirected again, because keys are in both places.
  for (const job of jobs) job.alone = true;
  submitAll(cluster, jobs);
}

function submitAll(cluster: Cluster, jobs: readonly Job[]): void {
  for (const job of jobs) submit(cluster, job);
}
