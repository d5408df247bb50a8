/*
 * Batches under way to one node at the same time, by cas: while the server works at one, the next is
 * made, and while that is under way, callers of the first are answered. A single batch would have
 * client and server wait for each other by turns, half of the time each.
 *
 * A batch waits for none of those before it, as it goes by what they will have written: the server
 * runs them in their order. If one of them loses the race for a key, so do those after it on that
 * key, and all are tried again once they are back.
 *
 * Where many calls share few keys, making a batch costs little, and one after the other is best.
 */

import type { Batch } from "./batch.ts";

/** The most batches under way. */
const MOST_BATCHES = 4;
/** The fewest keys of a batch beside others: each costs a command, a write and a turn of the event loop. */
const LEAST_KEYS = 20;

/** How much is under way to one node. */
export interface BatchesInFlight {
  /** How many batches. */
  size: number;
  /** How many calls are in them. */
  calls: number;
  /** How many keys the last batch had for each of its calls. */
  keysPerCall: number;
  /** How many calls must wait before one more batch is worth it. */
  least: number;
}

/** Nothing is under way. */
export function batchesInFlight(): BatchesInFlight {
  return { size: 0, calls: 0, keysPerCall: 1, least: 1 };
}

/** Whether one more batch is worth it, while so many calls wait. */
export function admitsBatch({ size, least }: BatchesInFlight, waiting: number): boolean {
  return size === 0 || waiting >= least;
}

/** How many of the calls that wait go into the next batch at most. */
export function batchShare({ calls, keysPerCall }: BatchesInFlight, waiting: number): number {
  const keys = (waiting + calls) * keysPerCall;
  const batches = Math.max(1, Math.min(Math.floor(keys / LEAST_KEYS), MOST_BATCHES));
  return Math.ceil((waiting + calls) / batches);
}

/** One more batch is under way. */
export function batchStarted(inFlight: BatchesInFlight, batch: Batch): void {
  inFlight.keysPerCall = batch.cells.size / batch.jobs.length;
  count(inFlight, 1, batch);
}

/** A batch came back. */
export function batchFinished(inFlight: BatchesInFlight, batch: Batch): void {
  count(inFlight, -1, batch);
}

function count(inFlight: BatchesInFlight, batches: number, { jobs }: Batch): void {
  inFlight.size += batches;
  const { size, keysPerCall } = inFlight;
  // More calls may have joined a watched batch since; but such a batch is under way alone.
  inFlight.calls = size === 0 ? 0 : inFlight.calls + batches * jobs.length;
  const isFull = size === MOST_BATCHES;
  inFlight.least = isFull ? Infinity : (size + 1) * LEAST_KEYS / keysPerCall - inFlight.calls;
}
