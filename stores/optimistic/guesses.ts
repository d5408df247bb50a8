/*
 * For commits that compare and set: the calls are decided by the values last seen, which the server
 * compares with what it holds when it writes. Where they differ, it answers what it holds, and only the
 * calls on those keys are decided again.
 */

import { type Cell, loadCell, rootOf } from "./cell.ts";
import type { ValueCache } from "./value_cache.ts";

/** Loads cells with the values last seen. */
export function loadGuesses(cells: Iterable<Cell>, values: ValueCache): void {
  for (const cell of cells) {
    const guess = values.get(cell.key);
    loadCell(cell, guess?.text, guess);
  }
}

/** Cells that are committed together, each group as a whole or not at all. */
export function groupsOf(cells: readonly Cell[]): readonly (readonly Cell[])[] {
  const groups: Cell[][] = [];
  const tied = new Map<Cell, Cell[]>();
  for (const cell of cells) {
    const group = cell.tied ? tied.get(rootOf(cell)) : undefined;
    if (group !== undefined) group.push(cell);
    else {
      const made = [cell];
      groups.push(made);
      if (cell.tied) tied.set(rootOf(cell), made);
    }
  }
  return groups;
}
