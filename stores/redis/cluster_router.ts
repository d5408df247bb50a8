/*
 * Calls of a cluster: each slot has a node, each node a batcher and a connection of its own. In
 * watch mode a transaction holds keys of one slot, and those of a node are run one after the other;
 * in cas mode a batch holds script calls for many slots.
 *
 * | a node says, or does | then |
 * |---|---|
 * | MOVED | the map is renewed, and the call goes to where the slot is now |
 * | ASK | this call goes to the node that the slot is being moved to, and says so |
 * | TRYAGAIN | keys are in both places: a little later, and each call alone |
 * | CLUSTERDOWN | the call is told that it was not applied |
 * | it fails | what is known of its slots is forgotten; once a replica has taken over, the map says so |
 */

import { type Batcher, batcher } from "./batcher.ts";
import { type Breaker, breaker } from "./breaker.ts";
import {
  type ClusterMap,
  clusterMap,
  type ClusterNode,
  type NodeRedisCluster,
} from "./cluster_map.ts";
import { hashSlot } from "./hash_slot.ts";
import type { Job } from "./job.ts";
import { link } from "./link.ts";
import type { Commit } from "./node_connection.ts";
import type { Router } from "./router.ts";
import type { StoreParts } from "./store_parts.ts";
import type { Trouble } from "./trouble.ts";
import { unavailable } from "./unavailable.ts";

/** How often a node may send a call elsewhere before it is told that the cluster does not settle. */
const MOST_REDIRECTS = 32;

/** A node in use. */
interface Station {
  readonly batcher: Batcher;
  readonly health: Breaker;
}

/** Brings each call to the node that has its slot. */
export function clusterRouter(
  cluster: NodeRedisCluster,
  commit: Commit | "auto",
  parts: StoreParts,
): Router {
  const map: ClusterMap = clusterMap(cluster);
  const stations = new Map<string, Station>();
  const routes = new Map<number, Station>();
  /** Calls whose slot's node is being looked up. */
  const lost = new Map<number, Job[]>();
  let closed = false;

  function stationOf({ address, dial }: ClusterNode): Station {
    const known = stations.get(address);
    if (known !== undefined) return known;
    const own = breaker();
    const health: Breaker = {
      ...own,
      failed() {
        own.failed();
        routes.clear();
      },
    };
    const station: Station = {
      batcher: batcher(link(dial, commit, parts), health, parts, sendOn),
      health,
    };
    stations.set(address, station);
    return station;
  }

  function submit(job: Job): void {
    if (closed) return fail([job], new Error("The store was closed"));
    const station = routes.get(job.slot);
    if (station !== undefined) return station.batcher.submit(job);
    const waiting = lost.get(job.slot);
    if (waiting === undefined) {
      lost.set(job.slot, [job]);
      void find(job.slot, job.keys[0]!);
    } else if (waiting.length < parts.maxPending) waiting.push(job);
    else fail([job], new Error(`${parts.maxPending} calls wait already`));
  }

  /** Looks up who has a slot, and hands over the calls that wait for that. */
  async function find(slot: number, key: string): Promise<void> {
    const patience = stations.size === 0 ? parts.dialDeadline : parts.deadline;
    try {
      const station = stationOf(await within(patience, map.nodeOf(key)));
      routes.set(slot, station);
      for (const job of taken(slot)) station.batcher.submit(job);
    } catch (error) {
      fail(taken(slot), error as Error);
    }
  }

  function taken(slot: number): readonly Job[] {
    const waiting = lost.get(slot) ?? [];
    lost.delete(slot);
    return waiting;
  }

  /** Takes calls back from a node that could not run them, and sends them where they belong. */
  function sendOn(jobs: readonly Job[], { error }: Trouble): void {
    const again = jobs.filter((job) => ++job.redirects < MOST_REDIRECTS);
    fail(jobs.filter((job) => job.redirects >= MOST_REDIRECTS), error);
    const [word, , address = ""] = error.message.split(" ");
    const sent = word === "ASK"
      ? ask(again, address)
      : word === "MOVED"
      ? follow(again)
      : word === "TRYAGAIN"
      ? retryLater(again)
      : Promise.reject(error);
    sent.catch((cause) => fail(again, cause));
  }

  async function ask(jobs: readonly Job[], address: string): Promise<void> {
    const { batcher } = stationOf(await within(parts.deadline, map.nodeAt(address)));
    for (const job of jobs) {
      job.asking = true;
      batcher.submit(job);
    }
  }

  async function follow(jobs: readonly Job[]): Promise<void> {
    if (jobs.length === 0) return;
    await within(parts.deadline, map.renew(jobs[0]!.keys[0]!));
    routes.clear();
    for (const job of jobs) {
      job.asking = false;
      submit(job);
    }
  }

  async function retryLater(jobs: readonly Job[]): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 8));
    for (const job of jobs) {
      // Together they would be sent away again: keys of theirs are in both places.
      job.alone = true;
      job.asking = false;
      submit(job);
    }
  }

  function fail(jobs: readonly Job[], cause: Error): void {
    parts.counters.unavailable += jobs.length;
    for (const job of jobs) job.fail(unavailable("no", cause));
  }

  return {
    slotOf: hashSlot,
    submit,
    untilProbe: (slot) => routes.get(slot)?.health.untilProbe() ?? 0,
    close() {
      closed = true;
      map.close();
      for (const { batcher } of stations.values()) batcher.close();
      for (const slot of [...lost.keys()]) fail(taken(slot), new Error("The store was closed"));
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
