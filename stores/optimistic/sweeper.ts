/*
 * Deletes expired keys, a few at a time, now and then after a batch. So a database needs no timer and
 * no other process for it.
 */

import type { Housekeeping } from "../driver.ts";
import { performance } from "../own_timers.ts";

/** The most keys of one sweep. */
const SWEPT = 1_000;
/** Milliseconds between sweeps: while many keys have expired, and otherwise. */
const SOON = 1_000;
const LATER = 60_000;

/** Makes the sweeper of a store. Its first sweep is at a random time in the first minute. */
export function sweeper(driver: Housekeeping) {
  // Processes that were started together must not sweep together.
  let due = performance.now() + Math.random() * LATER;
  let underWay: Promise<void> | undefined;

  async function sweep(): Promise<void> {
    let next = LATER;
    try {
      const swept = await driver.sweep!(SWEPT);
      if (swept >= SWEPT / 2) next = SOON;
    } catch {
      // Calls meet the same failure and report it. A later sweep deletes the rest.
    }
    due = performance.now() + next * (0.5 + Math.random());
    underWay = undefined;
  }

  return {
    /** Begins a sweep if one is due. Nobody waits for it. */
    afterBatch(): void {
      if (driver.sweep === undefined || underWay !== undefined || performance.now() < due) return;
      underWay = sweep();
    },
    /** Resolves once no sweep is under way. No sweep begins after that. */
    async close(): Promise<void> {
      due = Infinity;
      await underWay;
    },
  };
}
