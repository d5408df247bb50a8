/*
 * A batch: the calls that one transaction decides, and a driver commits (driver.ts). Each key has a
 * cell, over which the calls are stepped (../stepping/step_calls.ts).
 */

import { addCells, cellOf, type Cells, noCells } from "../stepping/cells.ts";
import {
  encodeCells,
  type ReadCounters,
  stepCalls,
  type StepTime,
} from "../stepping/step_calls.ts";
import { namesOf } from "../stepping/call.ts";
import { type Job, keySet } from "./job.ts";

/** The parts of one batch. */
export interface Batch {
  readonly jobs: Job[];
  readonly cells: Cells;
  /** If its calls must be alone: for each stored key, the `keySet` of the calls that may use it. */
  readonly alone: Map<string, string> | undefined;
}

/** Takes a call into a batch. */
export function addJob(job: Job, { jobs, cells, alone }: Batch): void {
  addCells(cells, job);
  if (alone !== undefined) { for (const name of namesOf(job)) alone.set(name, keySet(job)); }
  jobs.push(job);
}

/** An empty batch for calls like this one. */
export function emptyBatch({ alone }: Pick<Job, "alone">): Batch {
  return {
    jobs: [],
    cells: noCells(),
    alone: alone ? new Map() : undefined,
  };
}

/**
 * Whether a call may join the calls of a batch, some of which may have to be alone. Such a call shares
 * a transaction, or a script call, only with calls on the same keys. A batch of several script calls
 * may have other calls as well.
 *
 * @param isOne Whether the batch is one transaction.
 */
export function canShare({ jobs, alone }: Batch, job: Job, isOne: boolean): boolean {
  if (alone === undefined) return !job.alone;
  if (jobs.length === 0) return true;
  const names = namesOf(job);
  if (isOne) return alone.size === names.length && names.every((name) => alone.has(name));
  const own = keySet(job);
  return names.every((name) => (alone.get(name) ?? own) === own);
}

/**
 * Whether a call may join the batch because all its keys are being loaded; `undefined` if no call may
 * join any more. If only some of its keys are, it has to wait, and so do the calls after it, because
 * calls on a key are decided in the order in which they came.
 *
 * @param most The most calls of a batch.
 */
export function mayJoin(batch: Batch, job: Job, most: number): boolean | undefined {
  const { jobs, cells } = batch;
  if (!canShare(batch, job, true) || jobs.length >= most) return undefined;
  if (job.several === undefined) return cellOf(cells, job) !== undefined;
  const { keys } = job.several;
  const loaded = keys.filter((key) => cellOf(cells, key) !== undefined).length;
  return loaded === keys.length ? true : loaded === 0 ? false : undefined;
}

/**
 * Decides all calls in their order, and encodes the changed states. A call whose reducer throws, or
 * whose state cannot be encoded, fails at once and changes nothing. Returns the other calls.
 *
 * @param waiting Calls that must not be decided now.
 */
export function decideBatch(
  batch: Batch,
  time: StepTime,
  counters: ReadCounters,
  waiting: ReadonlySet<Job> = NONE,
): readonly Job[] {
  const { jobs, cells } = batch;
  // Calls that were given up meanwhile must not be charged.
  const isLeftOut = (job: Job) => job.settled || waiting.size > 0 && waiting.has(job);
  const asked = jobs.some(isLeftOut) ? jobs.filter((job) => !isLeftOut(job)) : jobs;
  const stepped = stepCalls(asked, cells, time, counters, failJob);
  return encodeCells(cells, stepped, time.now, failJob);
}

const NONE: ReadonlySet<Job> = new Set();

/** A driver may have calls decided twice, and a failed call must not be charged the second time. */
export function failJob(job: Job, error: Error): void {
  job.settled = true;
  job.reject(error);
}
