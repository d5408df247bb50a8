/*
 * Which calls of a batch the script cannot run, so that they compare and set, in the same write: those
 * of other verbs and algorithms, and all calls on a key whose state has notes.
 */

import { isNotedText } from "../../../core/receipts/noted_codec.ts";
import type { Batch } from "../../optimistic/batch.ts";
import type { Cell } from "../../optimistic/cell.ts";
import { type Job, keysOf, type Part } from "../../optimistic/job.ts";
import type { ValueCache } from "../../optimistic/value_cache.ts";

/**
 * The calls of a batch that compare and set, because the script cannot run them, and all that share a key
 * with one of those: calls on a key are decided in their order.
 */
export function comparingJobs({ jobs, cells }: Batch, values: ValueCache): ReadonlySet<Job> {
  const comparing = new Set(jobs.filter((job) => !canRun(job) || hasNotes(job, values)));
  if (comparing.size === 0 || comparing.size === jobs.length) return comparing;
  const keys = new Set<Cell>();
  for (let before = -1; before < comparing.size;) {
    before = comparing.size;
    for (const job of jobs) {
      const own = cellsOf(job, cells);
      if (comparing.has(job) || own.some((cell) => keys.has(cell))) {
        comparing.add(job);
        for (const cell of own) keys.add(cell);
      }
    }
  }
  return comparing;
}

/** Whether a key of a call had a state with notes when it was last seen. */
function hasNotes(job: Job, values: ValueCache): boolean {
  const isNoted = (key: string) => isNotedText(values.get(key)?.text ?? "");
  return job.several === undefined ? isNoted(job.key) : keysOf(job).some(isNoted);
}

function cellsOf(job: Job, cells: Batch["cells"]): readonly Cell[] {
  return job.several === undefined ? [job.cell!] : keysOf(job).map((key) => cells.get(key)!);
}

/** Whether the script can run a call. */
function canRun({ bound, several }: Job): boolean {
  if (bound !== undefined) return bound.formula !== undefined;
  if (several === undefined) return true;
  const { parts } = several;
  return parts.every(({ bound, older }) => bound.formula !== undefined && older.length === 0) &&
    (parts.length === 1 || !parts.some(isCharge));
}

/** The script takes a charge that changes nothing for a refusal. */
function isCharge({ bound }: Part): boolean {
  return bound.formula?.[0] === "charge";
}
