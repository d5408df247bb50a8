/*
 * Deletes what has expired, by those who use the database: now and then after a batch, a little at a
 * time, so that nobody needs a timer or another process.
 */

import type { Housekeeping } from "../driver.ts";

/** The most keys of one sweep. */
const SWEPT = 1_000;
/** Milliseconds between sweeps: while there is much to delete, and otherwise. */
const SOON = 1_000;
const LATER = 60_000;

/** Makes the sweeper of a store; its first sweep is at some time in the first minute. */
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
      // Calls meet the same failure, and report it; what is left is swept later.
    }
    due = performance.now() + next * (0.5 + Math.random());
    underWay = undefined;
  }

  return {
    /** Begins a sweep if one is due; nobody waits for it. */
    afterBatch(): void {
      if (driver.sweep === undefined || underWay !== undefined || performance.now() < due) return;
      underWay = sweep();
    },
    /** Resolves when none is under way; none begins any more. */
    async close(): Promise<void> {
      due = Infinity;
      await underWay;
    },
  };
}
