/*
 * Requests of a log that is written in whole seconds, spread over their seconds. Taken as written, all
 * of a second's requests would come at one instant, and a limit with a small burst would refuse most
 * of them.
 *
 * A server writes lines in the order in which requests end, so that the order is what the log knows
 * of the time within a second: of n lines, the k-th is placed at (k - 1) / n of the second. Of a busy
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
 * @returns The latest instant; `undefined` if a time is no whole second: then nothing changes.
 */
export function spreadSeconds(rows: readonly TraceRows[]): number | undefined {
  const seconds = countSeconds(rows);
  if (seconds === undefined) return undefined;
  let written = NaN;
  let second: Second = { count: 1, placed: 0 };
  for (const { at } of rows) {
    for (let row = 0; row < at.length; row++) {
      if (at[row] !== written) {
        written = at[row]!;
        second = seconds.get(written)!;
      }
      at[row] = written + Math.floor(second.placed++ * SECOND / second.count);
    }
  }
  let latest = -Infinity;
  for (const [instant, { count }] of seconds) {
    latest = Math.max(latest, instant + Math.floor((count - 1) * SECOND / count));
  }
  return latest;
}

/** The seconds by their instants; `undefined` if there is a time between two. */
function countSeconds(rows: readonly TraceRows[]): Map<number, Second> | undefined {
  const seconds = new Map<number, Second>();
  let written = NaN;
  let second: Second = { count: 0, placed: 0 };
  for (const { at } of rows) {
    for (let row = 0; row < at.length; row++) {
      // Lines of one second mostly stand together: few of them cost a look into the map.
      if (at[row] !== written) {
        written = at[row]!;
        if (written % SECOND !== 0) return undefined;
        second = seconds.get(written) ?? { count: 0, placed: 0 };
        seconds.set(written, second);
      }
      second.count++;
    }
  }
  return seconds;
}
