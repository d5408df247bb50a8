/*
 * Batches under way to one node at the same time, by cas: while the server works at one, the next is
 * made, and while that is under way, callers of the first are answered. A single batch would have
 * client and server wait for each other by turns, half of the time each.
 *
 * A batch waits for none of those before it, because it goes by what they will have written: the server
 * runs them in their order. If one of them loses the race for a key, so do those after it on that
 * key, and all are tried again once they are back.
 *
 * Where many calls share few keys, making a batch costs little, and one after the other is best.
 */

import type { Batch } from "./batch.ts";

/** The most batches under way. */
export const MAX_BATCHES = 4;
/**
 * The fewest keys of a batch beside others: each costs a command, a write and a turn of the event
 * loop.
 */
const MIN_KEYS = 40;

/** The batches that are under way to one node. */
export interface BatchesInFlight {
  /** An array, because a `Set` leaves tables behind that keep what was in it from the collector. */
  readonly batches: Batch[];
  /** The most of them. */
  most: number;
  /** How many keys the last batch had for each of its calls. */
  keysPerCall: number;
  /** How many calls must wait before one more batch is worth it. */
  least: number;
}

/** Nothing is under way. */
export function batchesInFlight(): BatchesInFlight {
  return { batches: [], most: MAX_BATCHES, keysPerCall: 1, least: 1 };
}

/** How many of the calls that wait go into the next batch at most. */
export function batchShare(inFlight: BatchesInFlight, waiting: number): number {
  const calls = waiting + callsInFlight(inFlight);
  const batches = Math.floor(calls * inFlight.keysPerCall / MIN_KEYS);
  return Math.ceil(calls / Math.max(1, Math.min(batches, inFlight.most)));
}

/** One more batch is under way. */
export function batchStarted(inFlight: BatchesInFlight, batch: Batch): void {
  inFlight.batches.push(batch);
  inFlight.keysPerCall = batch.cells.all.length / batch.jobs.length;
  updateLeast(inFlight);
}

/** A batch came back. */
export function batchFinished(inFlight: BatchesInFlight, batch: Batch): void {
  inFlight.batches.splice(inFlight.batches.indexOf(batch), 1);
  updateLeast(inFlight);
}

function updateLeast(inFlight: BatchesInFlight): void {
  const { batches, keysPerCall } = inFlight;
  const count = batches.length;
  const isFull = count >= inFlight.most;
  const least = (count + 1) * MIN_KEYS / keysPerCall - callsInFlight(inFlight);
  inFlight.least = isFull ? Infinity : count === 0 ? 1 : least;
}

function callsInFlight({ batches }: BatchesInFlight): number {
  return batches.reduce((sum, { jobs }) => sum + jobs.length, 0);
}
