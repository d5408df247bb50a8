/*
 * Calls on slots of which no owner is known: they wait until the cluster has said who has them, all
 * in one queue, which has a breaker as nodes have.
 */

import { withTimeout } from "../../../core/with_timeout.ts";
import type { Job } from "../batches/job.ts";
import { admitsCall, recordFailure, recordSuccess } from "../connections/circuit_breaker.ts";
import { patientTimer } from "../connections/patient_timer.ts";
import type { Cluster } from "./cluster.ts";
import { renewMap } from "./cluster_nodes.ts";

/** Has a call wait until it is known who has its slot; then it is submitted again. */
export function waitForRoute(cluster: Cluster, job: Job): void {
  const { maxPending, failJobs, refuseJob } = cluster.context;
  if (cluster.unrouted.length >= maxPending) return refuseJob(job);
  if (!admitsCall(cluster.breaker, false)) {
    const cause = new Error("The cluster did not report its slots a moment ago");
    return failJobs([job], "no", cause);
  }
  cluster.unrouted.push(job);
  if (!cluster.findsRoutes) void findRoutes(cluster);
}

/** Renews the map, and submits again all calls whose slots have an owner. */
async function findRoutes(cluster: Cluster): Promise<void> {
  const { breaker, submit, context: { deadline, connectDeadline, failJobs } } = cluster;
  cluster.findsRoutes = true;
  const most = breaker.hasConnected ? deadline : connectDeadline;
  let cause = new Error("No node has its slot");
  const late = () => {
    throw new Error(`The cluster did not report its slots within ${most} ms`);
  };
  try {
    await withTimeout(renewMap(cluster), most, late, patientTimer);
  } catch (error) {
    cause = error as Error;
  }
  cluster.findsRoutes = false;
  const jobs = takeUnrouted(cluster);
  const hasOwner = ({ slot }: Job) => cluster.slots.owners[slot] !== undefined;
  const homeless = jobs.filter((job) => !hasOwner(job));
  if (homeless.length === 0) recordSuccess(breaker);
  else recordFailure(breaker);
  failJobs(homeless, "no", cause);
  for (const job of jobs) if (hasOwner(job)) submit(job);
}

/** Takes out all calls that wait. */
export function takeUnrouted(cluster: Cluster): readonly Job[] {
  const { unrouted } = cluster;
  cluster.unrouted = [];
  return unrouted;
}
