/*
 * Calls of a cluster: each slot has a node, each node a batcher and a connection of its own, and a
 * clock of its own, as no two nodes have the same time. In watch mode a transaction holds keys of
 * one slot, and those of a node are run one after the other; in cas mode a batch holds script calls
 * for many slots.
 *
 * | a node says, or does | then |
 * |---|---|
 * | MOVED | the call goes to the node that it names; the map is asked anew soon |
 * | ASK | this call goes to the node that the slot is being moved to, and says so |
 * | TRYAGAIN | keys are in both places: a little later, and each call alone |
 * | CLUSTERDOWN | the call is told that it was not applied; the map is asked anew soon |
 * | it fails | its breaker opens; while it does, calls on its slots have the map asked anew |
 *
 * Nothing runs in the background: a call that comes is what has the map asked anew. Before anything
 * is known of a slot its calls wait for the map, all in one line, which has a breaker as nodes have.
 */

import { type Batcher, batcher } from "../batches/batcher.ts";
import { type CircuitBreaker, circuitBreaker } from "../connections/circuit_breaker.ts";
import type { NodeRedisCluster } from "../clients/cluster_dial.ts";
import { type ClusterMap, clusterMap } from "./cluster_map.ts";
import { hashSlot } from "./hash_slot.ts";
import type { Job } from "../batches/job.ts";
import { valueCache } from "../batches/value_cache.ts";
import { reconnector } from "../connections/reconnector.ts";
import type { Commit } from "../connections/node_connection.ts";
import type { Router } from "./router.ts";
import { serverClock } from "../connections/server_clock.ts";
import type { StoreContext } from "../store_context.ts";
import type { BatchFailure } from "../failures/batch_failure.ts";

/** How often a node may send a call elsewhere before it is told that the cluster does not settle. */
const MOST_REDIRECTS = 32;
/** The most milliseconds between two questions for the map while there is reason to ask. */
const RENEW_EVERY = 250;

/** A node in use. */
interface ClusterNode {
  readonly batcher: Batcher;
  readonly health: CircuitBreaker;
  /** Whether it failed when it was last asked. */
  failing: boolean;
}

/** Brings each call to the node that has its slot. */
export function clusterRouter(
  cluster: NodeRedisCluster,
  commit: Commit | "auto",
  parts: StoreContext,
): Router {
  const { deadline, dialDeadline, maxPending, failJobs } = parts;
  const nodes = new Map<string, ClusterNode>();
  const map: ClusterMap = clusterMap(
    cluster,
    dialDeadline,
    (address) => nodes.get(address)?.failing === true,
  );
  /** Of the map, for calls on slots of which nobody is known to have them. */
  const health: CircuitBreaker = circuitBreaker();
  /** Those calls. */
  let unrouted: Job[] = [];
  let looking = false;
  let hasBeenKnown = false;
  /** From when on the map may be asked anew. */
  let renewalAt = 0;
  let closed = false;

  function nodeAt(address: string): ClusterNode {
    let station = nodes.get(address);
    if (station === undefined) nodes.set(address, station = createNode(address));
    return station;
  }

  function createNode(address: string): ClusterNode {
    const own: StoreContext = { ...parts, clock: serverClock(), values: valueCache() };
    const { succeeded, failed, ...rest } = circuitBreaker();
    const watched: CircuitBreaker = {
      ...rest,
      succeeded() {
        station.failing = false;
        succeeded();
      },
      failed() {
        station.failing = true;
        failed();
      },
    };
    const station: ClusterNode = {
      batcher: batcher(reconnector(map.dialOf(address), commit, own), watched, own, sendOn),
      health: watched,
      failing: false,
    };
    return station;
  }

  function submit(job: Job): void {
    if (closed) return fail([job], new Error("The store was closed"));
    const address = map.ownerOf(job.slot);
    if (address === undefined) return look(job);
    const { batcher, failing } = nodeAt(address);
    if (failing) renewSoon();
    batcher.submit(job);
  }

  /** Has a call wait until it is known who has its slot. */
  function look(job: Job): void {
    if (unrouted.length >= maxPending) {
      return fail([job], new Error(`${maxPending} calls wait already`));
    }
    if (!health.admits()) {
      return fail([job], new Error("The cluster did not tell its slots a moment ago"));
    }
    unrouted.push(job);
    if (!looking) void find();
  }

  /** Asks who has the slots of lost calls, and hands them over. */
  async function find(): Promise<void> {
    looking = true;
    const patience = hasBeenKnown ? deadline : dialDeadline;
    let cause = new Error("No node has its slot");
    try {
      await within(patience, renew());
    } catch (error) {
      cause = error as Error;
    }
    looking = false;
    const jobs = unrouted;
    unrouted = [];
    const homeless = jobs.filter(({ slot }) => map.ownerOf(slot) === undefined);
    if (homeless.length === 0) health.succeeded();
    else health.failed();
    fail(homeless, cause);
    for (const job of jobs) if (map.ownerOf(job.slot) !== undefined) submit(job);
  }

  async function renew(): Promise<void> {
    await map.renew();
    hasBeenKnown = true;
    const owners = map.owners();
    for (const [address, { batcher }] of nodes) {
      if (owners.has(address) || !batcher.isIdle()) continue;
      batcher.close();
      nodes.delete(address);
    }
  }

  /** Asks for the map anew unless that was done a moment ago; nobody waits for it. */
  function renewSoon(): void {
    const now = performance.now();
    if (now < renewalAt) return;
    renewalAt = now + RENEW_EVERY * (0.5 + Math.random() / 2);
    renew().catch(() => {});
  }

  /** Takes calls back from a node that could not run them, and sends them where they belong. */
  function sendOn(jobs: readonly Job[], { error }: BatchFailure): void {
    const again = jobs.filter((job) => ++job.redirects < MOST_REDIRECTS);
    fail(jobs.filter((job) => job.redirects >= MOST_REDIRECTS), error);
    const [word, slot, address = ""] = error.message.split(" ");
    // The node has told of one slot; calls on others were sent away as well, and hear of it again.
    const isNamed = (job: Job) => job.slot === Number(slot);
    if (word === "ASK") {
      submitAll(again.filter((job) => !isNamed(job)));
      ask(again.filter(isNamed), address);
    } else if (word === "MOVED") {
      map.learn(Number(slot), address);
      submitAll(again.filter(isNamed));
      void follow(again.filter((job) => !isNamed(job)));
    } else if (word === "TRYAGAIN") void retryLater(again);
    else {
      renewSoon();
      fail(again, error);
    }
  }

  function ask(jobs: readonly Job[], address: string): void {
    if (closed) return fail(jobs, new Error("The store was closed"));
    const { batcher } = nodeAt(address);
    for (const job of jobs) {
      job.asking = true;
      batcher.submit(job);
    }
  }

  /** Sends calls on when the map was asked anew; without any there is no hurry. */
  async function follow(jobs: readonly Job[]): Promise<void> {
    if (jobs.length === 0) return renewSoon();
    try {
      await within(deadline, renew());
      submitAll(jobs);
    } catch (error) {
      fail(jobs, error as Error);
    }
  }

  async function retryLater(jobs: readonly Job[]): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 8));
    // Together they would be sent away again: keys of theirs are in both places.
    for (const job of jobs) job.alone = true;
    submitAll(jobs);
  }

  function submitAll(jobs: readonly Job[]): void {
    for (const job of jobs) {
      job.asking = false;
      submit(job);
    }
  }

  function fail(jobs: readonly Job[], cause: Error): void {
    failJobs(jobs, "no", cause);
  }

  return {
    slotOf: hashSlot,
    submit,
    untilProbe(slot) {
      const address = map.ownerOf(slot);
      if (address === undefined) return health.untilProbe();
      return nodes.get(address)?.health.untilProbe() ?? 0;
    },
    close() {
      closed = true;
      map.close();
      for (const { batcher } of nodes.values()) batcher.close();
      const jobs = unrouted;
      unrouted = [];
      fail(jobs, new Error("The store was closed"));
    },
  };
}

/** What a promise becomes, if it does within so many milliseconds. */
function within<Value>(milliseconds: number, promise: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`The cluster did not tell its slots within ${milliseconds} ms`)),
      milliseconds,
    );
    promise.finally(() => clearTimeout(timer)).then(resolve, reject);
  });
}
