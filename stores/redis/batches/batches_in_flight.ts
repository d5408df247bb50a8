/*
 * Batches under way to one node at the same time, by cas: while the server works at one, the next is
 * made, and while that is under way, callers of the first are answered. A single batch would have
 * client and server wait for each other by turns, half of the time each.
 *
 * Nothing is waited for, as a batch goes by what the ones before it will have written: the server
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

/** The batches under way to one node. */
export interface BatchesInFlight {
  /** How many there are. */
  readonly size: number;
  /** Whether one more is worth it, while so many calls wait. */
  admits(waiting: number): boolean;
  /** How many of the calls that wait go into the next one at most. */
  share(waiting: number): number;
  /** One more is under way. */
  started(batch: Batch): void;
  /** It came back. */
  finished(batch: Batch): void;
}

/** A fleet of which nothing is under way. */
export function batchesInFlight(): BatchesInFlight {
  let size = 0;
  /** How many calls are under way. */
  let calls = 0;
  /** How many keys the last batch had for each of its calls. */
  let keysPerCall = 1;
  /** How many calls must wait for one more batch. */
  let least = 1;

  /** How many batches all calls that wait or are under way are worth. */
  function worth(waiting: number): number {
    const keys = (waiting + calls) * keysPerCall;
    return Math.max(1, Math.min(Math.floor(keys / LEAST_KEYS), MOST_BATCHES));
  }

  function count(batches: number, { jobs }: Batch): void {
    size += batches;
    // More calls may have joined a watched batch since; but such a one is under way alone.
    calls = size === 0 ? 0 : calls + batches * jobs.length;
    const isFull = size === MOST_BATCHES;
    least = isFull ? Infinity : (size + 1) * LEAST_KEYS / keysPerCall - calls;
  }

  return {
    get size() {
      return size;
    },
    admits: (waiting) => size === 0 || waiting >= least,
    share: (waiting) => Math.ceil((waiting + calls) / worth(waiting)),
    started(batch) {
      keysPerCall = batch.cells.size / batch.jobs.length;
      count(1, batch);
    },
    finished: (batch) => count(-1, batch),
  };
}
