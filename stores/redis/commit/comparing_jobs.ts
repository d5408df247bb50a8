/*
 * Finds the calls of a batch that the script cannot run: calls of other verbs and algorithms. They
 * compare and set, in the same write.
 */

import type { Batch } from "../../optimistic/batch.ts";
import { cellsOf } from "../../stepping/cells.ts";
import type { Cell } from "../../stepping/cell.ts";
import type { Job } from "../../optimistic/job.ts";
import type { Part } from "../../stepping/call.ts";

/**
 * The calls of a batch that compare and set because the script cannot run them, and all calls that
 * share a key with one of these, because calls on a key are decided in their order.
 */
export function comparingJobs({ jobs, cells }: Batch): ReadonlySet<Job> {
  const keys = new Set<Cell>();
  const comparing = new Set<Job>();
  for (let before = -1; before < comparing.size;) {
    before = comparing.size;
    for (const job of jobs) {
      if (canRun(job) && (keys.size === 0 || !cellsOf(job, cells).some((cell) => keys.has(cell)))) {
        continue;
      }
      comparing.add(job);
      for (const cell of cellsOf(job, cells)) keys.add(cell);
    }
  }
  return comparing;
}

/** Whether the script can run a call. */
function canRun({ bound, several }: Job): boolean {
  if (bound !== undefined) return bound.formula !== undefined;
  if (several === undefined) return true;
  const { parts } = several;
  return parts.every(({ bound, older }) => bound.formula !== undefined && older.length === 0) &&
    (parts.length === 1 || !parts.some(isCharge));
}

/** Whether a call is a charge. The script would count a charge that changes nothing as a refusal. */
function isCharge({ bound }: Part): boolean {
  return bound.formula?.[0] === "charge";
}
