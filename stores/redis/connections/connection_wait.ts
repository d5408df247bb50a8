/*
 * Calls that wait while a connection is made. None waits longer than it should, however long
 * connecting takes: before the first connection to a server the connect deadline, later the deadline
 * of a round trip.
 */

import { recordFailure } from "./circuit_breaker.ts";
import type { NodeConnection } from "./node_connection.ts";
import { patientTimer } from "./patient_timer.ts";
import { connectTo, type Reconnector } from "./reconnector.ts";
import type { Job } from "../batches/job.ts";
import {
  enqueue,
  firstJob,
  type JobQueue,
  markWaiting,
  takeAll,
  takeWaitingSince,
} from "../batches/job_queue.ts";

/** The calls that wait for a server, and for its connection while one is made. */
export interface ConnectionWait {
  readonly server: Reconnector;
  readonly queue: JobQueue;
  /** Whether a connection is being made. */
  connecting: boolean;
  /** Fails calls that have waited too long; `undefined` while none waits for a connection. */
  timer: (() => void) | undefined;
}

/** No connection is being made yet. */
export function connectionWait(server: Reconnector, queue: JobQueue): ConnectionWait {
  return { server, queue, connecting: false, timer: undefined };
}

/** Makes a connection; if that fails, so do all calls that wait. */
export async function connectOrFail(wait: ConnectionWait): Promise<NodeConnection | undefined> {
  const { server, queue } = wait;
  wait.connecting = true;
  markWaiting(queue, performance.now());
  startTimer(wait);
  try {
    return await connectTo(server);
  } catch (error) {
    recordFailure(server.breaker);
    server.context.failJobs(takeAll(queue), "no", error as Error);
    return undefined;
  } finally {
    wait.connecting = false;
    wait.timer?.();
    wait.timer = undefined;
  }
}

/** Puts a call in the queue while a connection is made. */
export function enqueueWaiting(wait: ConnectionWait, job: Job): void {
  job.waitsSince ||= performance.now();
  enqueue(wait.queue, job);
  startTimer(wait);
}

/** Starts the timer for the call that has waited longest, unless it runs. */
function startTimer(wait: ConnectionWait): void {
  const { server: { breaker, context }, queue } = wait;
  const oldest = firstJob(queue);
  if (wait.timer !== undefined || oldest === undefined) return;
  const most = breaker.hasConnected ? context.deadline : context.connectDeadline;
  wait.timer = patientTimer(Math.max(1, oldest.waitsSince + most - performance.now()), () => {
    wait.timer = undefined;
    const late = takeWaitingSince(queue, performance.now() - most);
    if (late.length > 0) recordFailure(breaker);
    context.failJobs(late, "no", new Error(`No connection within ${most} ms`));
    startTimer(wait);
  });
}
