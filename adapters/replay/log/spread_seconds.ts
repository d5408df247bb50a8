/*
 * Requests of a log that is written in whole seconds, spread over their seconds. Taken as written, all
 * of a second's requests would come at one instant, and a limit with a small burst would refuse most
 * of them.
 *
 * A server writes lines in the order in which requests end. Within a second, that order is all that
 * the log knows of the time: of n lines, the k-th is placed at (k - 1) / n of the second. In a busy
 * log this is nearly when a request came; a lone client's requests are spread evenly.
 */

import type { TraceRows } from "./trace.ts";

const SECOND = 1_000;

/** How many requests a second has, and how many of them have a place. */
interface Second {
  count: number;
  placed: number;
}

/**
 * Spreads the requests of one log, in place.
 *
 * @returns Whether they were spread; if a time is no whole second, nothing changes.
 */
export function spreadSeconds(rows: readonly TraceRows[]): boolean {
  const seconds = new Map<number, Second>();
  // A function for each part of the rows, because runtimes compile functions that are called often.
  if (!rows.every(({ at }) => countPart(at, seconds))) return false;
  for (const { at } of rows) spreadPart(at, seconds);
  return seconds.size > 0;
}

/** Counts requests by their seconds; false if a time lies between two. */
function countPart(at: Float64Array, seconds: Map<number, Second>): boolean {
  let instant = NaN;
  let second: Second = { count: 0, placed: 0 };
  for (let row = 0; row < at.length; row++) {
    if (at[row] !== instant) {
      instant = at[row]!;
      if (instant % SECOND !== 0) return false;
      second = seconds.get(instant) ?? { count: 0, placed: 0 };
      seconds.set(instant, second);
    }
    second.count++;
  }
  return true;
}

function spreadPart(at: Float64Array, seconds: ReadonlyMap<number, Second>): void {
  let instant = NaN;
  let second: Second = { count: 0, placed: 0 };
  for (let row = 0; row < at.length; row++) {
    if (at[row] !== instant) {
      instant = at[row]!;
      second = seconds.get(instant)!;
    }
    at[row] = instant + Math.floor(second.placed++ * SECOND / second.count);
  }
}
