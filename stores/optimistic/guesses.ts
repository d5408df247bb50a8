/*
 * Guesses for commits that compare and set. Calls are decided on the values last seen. When the server
 * writes, it compares these with its own values. If they differ, it answers with its values, and only
 * calls on those keys are decided again.
 */

import { type Cell, loadCell, rootOf } from "../stepping/cell.ts";
import type { ValueCache } from "./value_cache.ts";

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
