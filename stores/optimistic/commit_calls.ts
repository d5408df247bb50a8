/*
 * The parts of a batch that are committed separately: calls of different hash slots, and calls that
 * must be alone because others failed with them.
 */

import type { Batch } from "./batch.ts";
import { cellOf } from "../stepping/cells.ts";
import type { Cell } from "../stepping/cell.ts";
import type { Job } from "./job.ts";

/** One commit: calls on keys of one slot, and their cells. */
export interface CommitCall {
  readonly jobs: Job[];
  cells: Cell[];
}

/** Splits calls by slot, and puts calls that must be alone into commits of their own. */
export function commitCallsOf(
  jobs: readonly Job[],
  { cells, alone }: Batch,
): readonly CommitCall[] {
  const calls = new Map<number | string, CommitCall>();
  let last: number | string | undefined;
  let call: CommitCall = { jobs: [], cells: [] };
  for (const job of jobs) {
    const name = alone?.get(job.cell!.name) ?? job.slot;
    if (name !== last) {
      call = calls.get(name) ?? { jobs: [], cells: [] };
      calls.set(last = name, call);
    }
    call.jobs.push(job);
    if (job.several === undefined) addCell(call, job.cell!);
    else for (const key of job.several.keys) addCell(call, cellOf(cells, key)!);
  }
  return [...calls.values()];
}

function addCell({ cells }: CommitCall, cell: Cell): void {
  if (cells[cell.index] === cell) return;
  cell.index = cells.length;
  cells.push(cell);
}
