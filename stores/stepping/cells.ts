/*
 * The cells of the keys that calls share while they are stepped. A call is stepped over the cells of
 * its keys, so that later calls find what it left.
 */

import type { Call, SpacedKey } from "./call.ts";
import { type Cell, emptyCell } from "./cell.ts";

/** The cells of several calls. */
export interface Cells {
  readonly all: Cell[];
  /** The cells by the text of the key's space, then by the caller's own text, whose hash is known. */
  readonly bySpace: Map<string, Map<string, Cell>>;
}

/** No cells yet. */
export function noCells(): Cells {
  return { all: [], bySpace: new Map() };
}

/** Makes the cells of a call's keys, unless they are there. */
export function addCells(cells: Cells, call: Call): void {
  call.cell = addCell(cells, call);
  if (call.several !== undefined) { for (const each of call.several.keys) addCell(cells, each); }
}

/** The cell of a key; an empty one if it is new. */
function addCell({ all, bySpace }: Cells, { space, key }: SpacedKey): Cell {
  let own = bySpace.get(space.text);
  if (own === undefined) bySpace.set(space.text, own = new Map());
  let cell = own.get(key);
  if (cell === undefined) {
    own.set(key, cell = emptyCell(space.nameOf(key), all.length));
    all.push(cell);
  }
  return cell;
}

/** The cell of a key; `undefined` if the batch does not have it. */
export function cellOf({ bySpace }: Cells, { space, key }: SpacedKey): Cell | undefined {
  return bySpace.get(space.text)?.get(key);
}

/** The cells of a call's keys. */
export function cellsOf({ cell, several }: Call, cells: Cells): readonly Cell[] {
  return several === undefined ? [cell!] : several.keys.map((key) => cellOf(cells, key)!);
}
