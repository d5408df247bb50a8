/*
 * The work of one transaction of a locked database. It steps calls over the cells of their keys, and
 * writes the cells that have changed.
 */

import type { DriverCell } from "../driver.ts";
import { processTime } from "../process_time.ts";
import type { Call } from "../stepping/call.ts";
import { isReplaced, loadCell } from "../stepping/cell.ts";
import { addCells, type Cells, noCells } from "../stepping/cells.ts";
import { encodeCells, stepCalls } from "../stepping/step_calls.ts";
import type { LockedTransaction } from "./locked_transaction.ts";

/** A call, and the error by which it failed. */
export interface LockedCall extends Call {
  failure: Error | undefined;
}

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

/** Decides calls in one transaction. Returns how many were decided, and how many keys were written. */
export function transactCalls(
  driver: LockedTransaction,
  calls: readonly LockedCall[],
  counters: LockedCounters,
): { decided: number; writes: number } {
  let writes = 0;
  let next: Cells | undefined = cellsFor(calls);
  const keys = next.all.map(({ name }) => name);
  const decided = driver.transact(keys, (held, now) => {
    // Each try needs new cells, because cells keep the outcomes of calls.
    const cells = next ?? cellsFor(calls);
    next = undefined;
    let index = 0;
    for (const cell of cells.all) loadCell(cell, held[index++] || undefined, undefined);
    // Without a time of the database, a process uses its own steady time, which may differ from the
    // time of other processes.
    const time = { now: now ?? processTime(), isShared: now !== undefined };
    const asked = calls.filter(({ failure }) => failure === undefined);
    const stepped = stepCalls(asked, cells, time, counters, fail);
    const decided = encodeCells(cells, stepped, time.now, fail).length;
    const written = writesOf(cells);
    writes = written.length;
    return { writes: written, answer: decided };
  });
  return { decided, writes };
}

/** Keeps the error of a call. If the driver has calls decided again, the call is left out. */
function fail(call: LockedCall, error: Error): void {
  call.failure = error;
}

function cellsFor(calls: readonly LockedCall[]): Cells {
  const cells = noCells();
  for (const call of calls) addCells(cells, call);
  return cells;
}

function writesOf(cells: Cells): readonly DriverCell[] {
  const writes: DriverCell[] = [];
  for (const cell of cells.all) {
    if (!isReplaced(cell)) continue;
    const { name, held = "", next = "", keptUntil } = cell;
    writes.push({ key: name, held, next, freshAt: next === "" ? 0 : keptUntil });
  }
  return writes;
}
