/*
 * Calls that a node sent elsewhere:
 *
 * | a node replies | then |
 * |---|---|
 * | MOVED | the call goes to the node that it names; the map is renewed soon |
 * | ASK | this call goes to the node that the slot is being moved to, after an ASKING |
 * | TRYAGAIN | keys are in both places: a little later, and each call alone |
 * | CLUSTERDOWN | the call fails as not applied; the map is renewed soon |
 */

import type { Job } from "../batches/job.ts";
import { storeClosed } from "../failures/batch_failure.ts";
import type { Cluster } from "./cluster.ts";
import { nodeAt, renewMapSoon } from "./cluster_nodes.ts";

/** How often nodes may send a call elsewhere before it fails, as the cluster does not settle. */
const MOST_REDIRECTS = 32;

/** Takes calls back from a node that could not run them, and submits them where they belong. */
export function redirect(cluster: Cluster, jobs: readonly Job[], error: Error): void {
  const { slots, context: { failJobs } } = cluster;
  const again = jobs.filter((job) => ++job.redirects < MOST_REDIRECTS);
  failJobs(jobs.filter((job) => job.redirects >= MOST_REDIRECTS), "no", error);
  const [word, slot, address = ""] = error.message.split(" ");
  if (word === "ASK") askNode(cluster, again, address);
  else if (word === "MOVED") {
    slots.owners[Number(slot)] = address;
    renewMapSoon(cluster);
    submitAll(cluster, again);
  } else if (word === "TRYAGAIN") void retryLater(cluster, again);
  else {
    renewMapSoon(cluster);
    failJobs(again, "no", error);
  }
}

/** Submits calls to the node that their slot is being moved to. */
function askNode(cluster: Cluster, jobs: readonly Job[], address: string): void {
  if (cluster.closed) return cluster.context.failJobs(jobs, "no", storeClosed());
  const node = nodeAt(cluster, address);
  for (const job of jobs) {
    job.asking = true;
    node.submit(job);
  }
}

async function retryLater(cluster: Cluster, jobs: readonly Job[]): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 8));
  // Together they would be sent away again: keys of theirs are in both places.
  for (const job of jobs) job.alone = true;
  submitAll(cluster, jobs);
}

function submitAll({ submit }: Cluster, jobs: readonly Job[]): void {
  for (const job of jobs) {
    job.asking = false;
    submit(job);
  }
}
