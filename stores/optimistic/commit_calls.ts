/*
 * The parts of a batch that are committed separately: calls of different hash slots, and calls that
 * must be alone because others failed with them.
 *
 * Commits that compare and set begin with guesses: calls are decided on the values last seen. When the
 * server writes, it compares these with its own values. If they differ, it answers with its values, and
 * only calls on those keys are decided again.
 */

import type { Batch } from "./batch.ts";
import { type Cell, loadCell, rootOf } from "../stepping/cell.ts";
import { cellOf } from "../stepping/cells.ts";
import { rootCellOf } from "../stepping/step_calls.ts";
import type { CommitCallbacks } from "./driver.ts";
import type { Job } from "./job.ts";
import type { ValueCache } from "./value_cache.ts";

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

/** Loads cells with the values last seen. */
export function loadGuesses(cells: readonly Cell[], values: ValueCache): void {
  for (const cell of cells) {
    const guess = values.get(cell.name);
    loadCell(cell, guess?.text, guess);
  }
}

/** Cells that are committed together, each group as a whole or not at all. */
export function groupsOf(cells: readonly Cell[]): readonly (readonly Cell[])[] {
  const groups: Cell[][] = [];
  const tied = new Map<Cell, Cell[]>();
  for (const cell of cells) {
    const root = cell.root === undefined ? undefined : rootOf(cell);
    const group = root === undefined ? undefined : tied.get(root);
    if (group !== undefined) group.push(cell);
    else {
      const made = [cell];
      groups.push(made);
      if (root !== undefined) tied.set(root, made);
    }
  }
  return groups;
}

/**
 * Reports calls by the groups of their keys, which are named by their root cells.
 *
 * @param lost Groups of which nothing was written.
 * @param waiting Lost groups that others have claimed, or keep locked.
 */
export function reportGroups(
  jobs: readonly Job[],
  lost: ReadonlySet<Cell>,
  waiting: ReadonlySet<Cell>,
  { answer, waitFor, tryAgain }: CommitCallbacks,
): void {
  if (lost.size === 0) return answer(jobs);
  const ofGroups = (has: (root: Cell) => boolean) => jobs.filter((job) => has(rootCellOf(job)));
  answer(ofGroups((root) => !lost.has(root)));
  waitFor(ofGroups((root) => waiting.has(root)));
  tryAgain(ofGroups((root) => lost.has(root) && !waiting.has(root)));
}
