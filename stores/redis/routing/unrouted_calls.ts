/*
 * Calls on slots of which no owner is known: they wait until the cluster has said who has them, all
 * in one queue, which has a breaker as nodes have.
 */

import { withTimeout } from "../../../core/with_timeout.ts";
import type { Job } from "../batches/job.ts";
import { admitsCall, recordFailure, recordSuccess } from "../connections/circuit_breaker.ts";
import { patientTimer } from "../connections/patient_timer.ts";
import { storeClosed } from "../failures/batch_failure.ts";
import { ownerOf } from "./cluster_map.ts";
import { type Cluster, mapTimeout, renewMap } from "./cluster_nodes.ts";

/** Calls without a route. */
export interface UnroutedCalls {
  jobs: Job[];
  /** Whether the map is being renewed for them. */
  renewing: boolean;
}

/** No call waits. */
export function unroutedCalls(): UnroutedCalls {
  return { jobs: [], renewing: false };
}

/** Has a call wait until it is known who has its slot; then it is submitted again. */
export function waitForRoute(
  unrouted: UnroutedCalls,
  job: Job,
  cluster: Cluster,
  submit: (job: Job) => void,
): void {
  const { maxPending, failJobs, refuseJob } = cluster.context;
  if (unrouted.jobs.length >= maxPending) return refuseJob(job);
  if (!admitsCall(cluster.breaker, false)) {
    const cause = new Error("The cluster did not report its slots a moment ago");
    return failJobs([job], "no", cause);
  }
  unrouted.jobs.push(job);
  if (!unrouted.renewing) void findRoutes(unrouted, cluster, submit);
}

/** Renews the map, and submits again all calls whose slots have an owner. */
async function findRoutes(
  unrouted: UnroutedCalls,
  cluster: Cluster,
  submit: (job: Job) => void,
): Promise<void> {
  const { map, breaker, context: { deadline, connectDeadline, failJobs } } = cluster;
  unrouted.renewing = true;
  const most = breaker.hasConnected ? deadline : connectDeadline;
  let cause = new Error("No node has its slot");
  try {
    await withTimeout(renewMap(cluster), most, mapTimeout(most), patientTimer);
  } catch (error) {
    cause = error as Error;
  }
  unrouted.renewing = false;
  const jobs = takeUnrouted(unrouted);
  const hasOwner = ({ slot }: Job) => ownerOf(map, slot) !== undefined;
  const homeless = jobs.filter((job) => !hasOwner(job));
  if (homeless.length === 0) recordSuccess(breaker);
  else recordFailure(breaker);
  failJobs(homeless, "no", cause);
  for (const job of jobs) if (hasOwner(job)) submit(job);
}

/** Fails all calls that wait, as the store is closed. */
export function closeUnrouted(unrouted: UnroutedCalls, { context }: Cluster): void {
  context.failJobs(takeUnrouted(unrouted), "no", storeClosed());
}

function takeUnrouted(unrouted: UnroutedCalls): readonly Job[] {
  const { jobs } = unrouted;
  unrouted.jobs = [];
  return jobs;
}
