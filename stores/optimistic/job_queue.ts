/*
 * Calls that wait for a node. They are kept by hash slot, because a transaction holds keys of one
 * slot. Within a slot they keep the order in which they came. The slot that has waited longest goes
 * first.
 */

import { addJob, type Batch, canShare, emptyBatch } from "./batch.ts";
import type { Job } from "./job.ts";

/** The most keys of one batch, because a batch that loses the race is repeated as a whole. */
const MAX_KEYS = 128;
/** The most calls of one batch, because stepping through them blocks the event loop. */
export const MAX_JOBS = 1_024;

/** Calls that wait for a node. */
export interface JobQueue {
  /** The calls of each slot. No list is empty. */
  readonly slots: Map<number, Job[]>;
  /** The number of calls. */
  size: number;
}

/** Makes an empty queue. */
export function jobQueue(): JobQueue {
  return { slots: new Map(), size: 0 };
}

/** The next call. */
export function firstJob({ slots }: JobQueue): Job | undefined {
  for (const jobs of slots.values()) return jobs[0];
  return undefined;
}

/** Puts a call at the end. */
export function enqueue(queue: JobQueue, job: Job): void {
  const jobs = queue.slots.get(job.slot);
  if (jobs === undefined) queue.slots.set(job.slot, [job]);
  else jobs.push(job);
  queue.size++;
}

/** Puts calls to try again at the head, in their order. */
export function enqueueFirst(queue: JobQueue, again: readonly Job[]): void {
  for (const job of again.toReversed()) {
    const jobs = queue.slots.get(job.slot);
    if (jobs === undefined) queue.slots.set(job.slot, [job]);
    else jobs.unshift(job);
  }
  queue.size += again.length;
}

/** A batch of calls from a queue, and whether it took all calls of their slot. */
export interface DrainedBatch {
  readonly batch: Batch;
  readonly allWent: boolean;
}

/**
 * Takes the next batch out of a queue that is not empty. A transaction gets calls of one slot; any
 * other batch gets calls of as many slots as there is room for.
 *
 * @param isOne Whether a batch is one transaction.
 */
export function drainBatch(queue: JobQueue, isOne: boolean): DrainedBatch {
  const batch = emptyBatch(firstJob(queue)!);
  for (const slot of [...queue.slots.keys()]) {
    const allWent = fillFrom(queue, slot, batch, isOne);
    if (!allWent || isOne) return { batch, allWent };
  }
  return { batch, allWent: true };
}

/** Moves calls of one slot to the batch while there is room. Returns whether it moved all of them. */
function fillFrom(
  queue: JobQueue,
  slot: number,
  batch: Batch,
  isOne: boolean,
): boolean {
  const jobs = queue.slots.get(slot)!;
  let taken = 0;
  for (const job of jobs) {
    if (!hasRoom(batch, job, isOne)) break;
    addJob(job, batch);
    taken++;
  }
  queue.size -= taken;
  if (taken > 0) queue.slots.delete(slot);
  if (taken === jobs.length) return true;
  // The rest goes behind the other slots, so that no slot starves.
  if (taken > 0) queue.slots.set(slot, jobs.slice(taken));
  return false;
}

function hasRoom(batch: Batch, job: Job, isOne: boolean): boolean {
  const { jobs, cells } = batch;
  if (jobs.length >= MAX_JOBS) return false;
  if (jobs.length > 0 && cells.all.length + keyCount(job) > MAX_KEYS) return false;
  return canShare(batch, job, isOne);
}

function keyCount({ several }: Job): number {
  return several === undefined ? 1 : several.keys.length;
}

/** Takes out every call that meets a condition. */
export function drainIf(queue: JobQueue, isTaken: (job: Job) => boolean): Job[] {
  const taken: Job[] = [];
  for (const [slot, jobs] of [...queue.slots]) {
    const left = jobs.filter((job) => !isTaken(job) || !taken.push(job));
    if (left.length === 0) queue.slots.delete(slot);
    else queue.slots.set(slot, left);
  }
  queue.size -= taken.length;
  return taken;
}
