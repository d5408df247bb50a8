/*
 * Batches that are under way to one node at the same time, if they compare and set. While the server
 * works on one, the client makes the next, and while that one is under way, it answers the callers of
 * the first. With a single batch, client and server would wait for each other in turns, half of the
 * time each.
 *
 * A batch need not wait for the batches before it. It is decided on their writes, because the server
 * runs them in their order. If one of them loses the race for a key, so do later batches on that key,
 * and all are tried again once they are back.
 *
 * If many calls share few keys, a batch costs little to make, and one batch at a time is best.
 */

import type { Batch } from "./batch.ts";
import { type BatchPace, batchPace } from "./batch_pace.ts";

/** The most batches under way. */
export const MAX_BATCHES = 4;

/** The batches that are under way to one node. */
export interface BatchesInFlight {
  /**
   * An array, because a `Set` leaves tables behind that keep its former members from the collector.
   */
  readonly batches: Batch[];
  readonly pace: BatchPace;
  /** The most batches under way. */
  most: number;
  /** The keys of the last batch divided by its calls. */
  keysPerCall: number;
  /** How many calls must wait before one more batch is worth it. */
  least: number;
}

/** Begins without a batch under way. */
export function batchesInFlight(): BatchesInFlight {
  return { batches: [], pace: batchPace(), most: MAX_BATCHES, keysPerCall: 1, least: 1 };
}

/** The most waiting calls that go into the next batch. */
export function batchShare(inFlight: BatchesInFlight, waiting: number): number {
  const calls = waiting + callsInFlight(inFlight);
  const batches = Math.floor(calls * inFlight.keysPerCall / inFlight.pace.leastKeys());
  return Math.ceil(calls / Math.max(1, Math.min(batches, inFlight.most)));
}

/** Notes that a batch has been sent. */
export function batchStarted(inFlight: BatchesInFlight, batch: Batch): void {
  inFlight.batches.push(batch);
  inFlight.keysPerCall = batch.cells.all.length / batch.jobs.length;
  updateLeast(inFlight);
}

/** Notes that a batch has come back. */
export function batchFinished(inFlight: BatchesInFlight, batch: Batch): void {
  inFlight.batches.splice(inFlight.batches.indexOf(batch), 1);
  inFlight.pace.returned();
  updateLeast(inFlight);
}

function updateLeast(inFlight: BatchesInFlight): void {
  const { batches, pace, keysPerCall } = inFlight;
  const count = batches.length;
  const isFull = count >= inFlight.most;
  const least = (count + 1) * pace.leastKeys() / keysPerCall - callsInFlight(inFlight);
  inFlight.least = isFull ? Infinity : count === 0 ? 1 : least;
}

function callsInFlight({ batches }: BatchesInFlight): number {
  return batches.reduce((sum, { jobs }) => sum + jobs.length, 0);
}
