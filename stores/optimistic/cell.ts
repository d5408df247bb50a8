/*
 * The working copy of one key while a batch is decided. Calls step its state in memory, and only
 * the final text is written, so many calls on one key cost one write.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { errorMessage } from "../../core/options/checks.ts";
import { LEEWAY, LONGEST, MARGIN } from "./lifetimes.ts";
import type { CachedValue, ValueCache } from "./value_cache.ts";

/**
 * A key of a batch: the text that the server holds, and the state after the calls stepped so far.
 */
export interface Cell {
  /** The stored key. */
  readonly name: string;
  /** How many cells came before it in its transaction. */
  index: number;
  /** The text that the server holds, or is thought to hold; `undefined` if none. */
  held: string | undefined;
  /** The instant until which the server keeps the value, by its clock; 0 if that is not known. */
  keptUntil: number;
  /** The state of `held`, once it was read; then the one after the calls stepped so far. */
  state: unknown;
  /** Whether `state` has been read. */
  read: boolean;
  /** Whether a call replaced the state. */
  changed: boolean;
  /** The algorithm whose state it is; `undefined` before the first call, and when the key was forgotten. */
  algorithm: Algorithm | undefined;
  /** Milliseconds until the state is fresh. */
  resetAfter: number;
  /** Whether it is further ahead than free units can bring it by `MOST_AHEAD`, because it is in debt. */
  owes: boolean;
  /** The text to hold after the batch, as `encodeCell` finds it; `undefined` to delete the key. */
  next: string | undefined;
  /** Milliseconds that the new value is to be kept; 0 to leave its expiry as it is. */
  lifetime: number;
  /**
   * The cell that stands for all that must be written together with this one, or leads to it; `undefined`
   * if no call needs other keys as well.
   */
  root: Cell | undefined;
}

/** A cell of a key of which nothing is known yet. */
export function emptyCell(name: string, index: number): Cell {
  return {
    name,
    index,
    held: undefined,
    keptUntil: 0,
    state: undefined,
    read: true,
    changed: false,
    algorithm: undefined,
    resetAfter: 0,
    owes: false,
    next: undefined,
    lifetime: 0,
    root: undefined,
  };
}

/** The end of the text of a state that is in debt, which others would take for one of a clock set back. */
const DEBT = " +";

/** The state of what the server holds; `undefined` if it is not a state of the algorithm. */
export function decodeCell({ held, owes }: Cell, { codec }: Algorithm): unknown {
  const state = codec.decode(held!);
  return state === undefined && owes ? codec.decode(held!.slice(0, -DEBT.length)) : state;
}

/** Loads what the server holds; `seen`, the value last seen, saves parsing the same text again. */
export function loadCell(
  cell: Cell,
  text: string | undefined,
  seen: CachedValue | undefined,
): void {
  const same = seen !== undefined && seen.text === text;
  cell.held = text;
  cell.next = text;
  cell.state = same ? seen.state : undefined;
  cell.read = text === undefined || cell.state !== undefined;
  cell.owes = text?.endsWith(DEBT) === true;
  cell.keptUntil = same ? seen.keptUntil : 0;
}

/**
 * Encodes the cell's state after the batch.
 *
 * @param now The instant of the batch.
 * @throws Any error of the codec, and if the algorithm does not say when the state is fresh.
 */
export function encodeCell(cell: Cell, now: number): void {
  if (!cell.changed) return;
  const { algorithm, state, held } = cell;
  cell.next = algorithm === undefined || state === algorithm.initial
    ? undefined
    : algorithm.codec.encode(state) + (cell.owes ? DEBT : "");
  if (cell.next === held || cell.next === undefined) return;
  if (!(cell.resetAfter >= 0)) {
    const rule = "its resetAfter must be a number of milliseconds, at least 0";
    throw new RangeError(errorMessage(`store a state of ${algorithm!.id}`, rule, cell.resetAfter));
  }
  // As in the script, every writer keeps a state until the same instant. So what is known of a text
  // still holds if others have replaced it in the meantime and written it again.
  const freshAt = now + Math.min(cell.resetAfter, LONGEST);
  const until = (Math.floor(freshAt / LEEWAY) + 1) * LEEWAY + MARGIN;
  if (held === undefined || cell.keptUntil !== until) cell.lifetime = Math.ceil(until - now);
  cell.keptUntil = until;
}

/** Remembers what the server holds once the cell is committed. */
export function rememberCell({ name, next, state, keptUntil }: Cell, values: ValueCache): void {
  values.set(name, next, state, keptUntil);
}

/** Whether the value that the server holds is to be replaced. */
export function isReplaced({ changed, next, held }: Cell): boolean {
  return changed && next !== held;
}

/** Leaves the key as it is: discards what the calls changed in the cell. */
export function discardChanges(cell: Cell): void {
  cell.changed = false;
  cell.state = undefined;
  cell.next = cell.held;
}

/** Ties together what one call reads and writes: it is committed as one, or not at all. */
export function tieCells(cells: readonly Cell[]): void {
  const first = rootOf(cells[0]!);
  for (const cell of cells) rootOf(cell).root = first;
}

/** The cell that stands for all that are tied to this one. */
export function rootOf(cell: Cell): Cell {
  let root = cell;
  while (root.root !== undefined && root.root !== root) root = root.root;
  return root;
}
