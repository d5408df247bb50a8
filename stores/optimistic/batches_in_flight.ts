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
 *
 * To a distant server one more batch leaves `APART` ms after the last one, however small it is.
 * Otherwise a call would wait for a whole round trip before its own.
 */

import type { Batch } from "./batch.ts";
import { clearTimeout, performance, setTimeout } from "../own_timers.ts";

/** The most batches under way. */
export const MAX_BATCHES = 4;
/**
 * The fewest keys of a batch beside others, because each batch costs a command, a write and a turn of
 * the event loop.
 */
const LEAST_KEYS = 40;

/** Milliseconds between small batches to a distant server, and the most of these under way. */
export const APART = 4;
const MOST_APART = 64;

/** The batches that are under way to one node. */
export interface BatchesInFlight {
  /**
   * An array, because a `Set` leaves tables behind that keep its former members from the collector.
   */
  readonly batches: Batch[];
  /** The most batches under way. */
  most: number;
  /** The keys of the last batch divided by its calls. */
  keysPerCall: number;
  /** The instant at which the last batch left, by `performance.now`. */
  sentAt: number;
  /** Whether the last batch left `APART` ms ago, so that one more may leave, however small it is. */
  isApart: boolean;
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** Begins without a batch under way. */
export function batchesInFlight(): BatchesInFlight {
  return {
    batches: [],
    most: MAX_BATCHES,
    keysPerCall: 1,
    sentAt: 0,
    isApart: false,
    timer: undefined,
  };
}

/** Whether one more batch may be sent, for that many waiting calls. */
export function mayStart(inFlight: BatchesInFlight, waiting: number): boolean {
  const { batches: { length }, isApart, most, keysPerCall } = inFlight;
  if (length >= (isApart ? MOST_APART : most)) return false;
  return length === 0 || isApart || waiting * keysPerCall >= LEAST_KEYS;
}

/** Notes that a batch has been sent. */
export function batchStarted(inFlight: BatchesInFlight, batch: Batch): void {
  inFlight.sentAt = performance.now();
  inFlight.isApart = false;
  inFlight.batches.push(batch);
  inFlight.keysPerCall = batch.cells.all.length / batch.jobs.length;
}

/** Notes that a batch has come back. */
export function batchFinished(inFlight: BatchesInFlight, batch: Batch): void {
  inFlight.batches.splice(inFlight.batches.indexOf(batch), 1);
}

/** Calls back once the last batch has left `APART` ms ago, unless another one leaves before. */
export function leaveApart(inFlight: BatchesInFlight, start: () => void): void {
  clearTimeout(inFlight.timer);
  inFlight.timer = setTimeout(() => {
    inFlight.isApart = true;
    start();
  }, APART);
}
