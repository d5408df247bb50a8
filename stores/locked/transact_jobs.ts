/*
 * The work of one transaction of a locked database. It steps calls over the cells of their keys, like a
 * batch of the optimistic engine, and writes the cells that have changed.
 */

import type { DriverCell } from "../driver.ts";
import { addJob, type Batch, decideBatch, emptyBatch } from "../optimistic/batch.ts";
import { isReplaced, loadCell } from "../optimistic/cell.ts";
import type { Job } from "../optimistic/job.ts";
import { processTime } from "../process_time.ts";
import type { LockedTransaction } from "./locked_transaction.ts";

/** Counters of a store that has done nothing yet. */
export function lockedCounters() {
  return {
    decisions: 0,
    batches: 0,
    writes: 0,
    unavailable: 0,
    overloaded: 0,
    unreadable: 0,
  };
}

/** The counts of a store. */
export type LockedCounters = ReturnType<typeof lockedCounters>;

/** Decides calls in one transaction. Returns the decided calls, and how many keys were written. */
export function transactJobs(
  driver: LockedTransaction,
  jobs: readonly Job[],
  counters: LockedCounters,
): { decided: readonly Job[]; writes: number } {
  let writes = 0;
  let next: Batch | undefined = batchOf(jobs);
  const keys = next.cells.all.map(({ name }) => name);
  const decided = driver.transact(keys, (held, now) => {
    // Each try needs a new batch, because cells keep the outcomes of calls.
    const batch = next ?? batchOf(jobs);
    next = undefined;
    let index = 0;
    for (const cell of batch.cells.all) loadCell(cell, held[index++] || undefined, undefined);
    // Without a time of the database, a process uses its own steady time, which may differ from the
    // time of other processes.
    const time = { now: now ?? processTime(), isShared: now !== undefined };
    const decided = decideBatch(batch, time, counters);
    const written = writesOf(batch);
    writes = written.length;
    return { writes: written, answer: decided };
  });
  return { decided, writes };
}

function batchOf(jobs: readonly Job[]): Batch {
  const batch = emptyBatch({ alone: false });
  for (const job of jobs) addJob(job, batch);
  return batch;
}

function writesOf({ cells }: Batch): readonly DriverCell[] {
  const writes: DriverCell[] = [];
  for (const cell of cells.all) {
    if (!isReplaced(cell)) continue;
    const { name, held = "", next = "", keptUntil } = cell;
    writes.push({ key: name, held, next, freshAt: next === "" ? 0 : keptUntil });
  }
  return writes;
}
