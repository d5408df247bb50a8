/*
 * The working copy of one key while a batch is decided. Calls step its state in memory, and only
 * the final text is written, so many calls on one key cost one write.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { errorMessage } from "../../core/options/checks.ts";

/** Milliseconds by which a value outlives its use. Clocks differ, and processes stall, by less. */
export const MARGIN = 5_000;
/**
 * Milliseconds that a value may be kept beyond that. An expiry within this range is not set again,
 * because that costs the server as much as writing the value.
 */
export const LEEWAY = 3_000;
/**
 * The most milliseconds that a value is kept: 139 years, to which a server can still add its clock.
 */
export const LONGEST: number = 2 ** 42;

/**
 * One key of a batch. It has the text that the server holds, and the state after the calls that
 * were decided so far.
 */
export interface Cell {
  /** The stored key. */
  readonly name: string;
  /** The number of cells before this one in the transaction. */
  index: number;
  /** The text that the server holds, or is expected to hold; `undefined` if none. */
  held: string | undefined;
  /** The instant until which the server keeps the value, by the server's clock; 0 if unknown. */
  keptUntil: number;
  /** Once read, the state in `held`; then the state after the calls that were decided so far. */
  state: unknown;
  /** Whether `state` has been read. */
  read: boolean;
  /** Whether a call replaced the state. */
  changed: boolean;
  /**
   * The algorithm of the state; `undefined` before the first call, and after a call that deletes
   * the key.
   */
  algorithm: Algorithm | undefined;
  /** Milliseconds until the state is fresh. */
  resetAfter: number;
  /**
   * Whether debt has put the state more than `MOST_AHEAD` beyond the bound of a key without debt.
   */
  owes: boolean;
  /** The text after the batch, from `encodeCell`; `undefined` to delete the key. */
  next: string | undefined;
  /** Milliseconds for which to keep the new value; 0 to leave its expiry as it is. */
  lifetime: number;
  /**
   * The cell that represents all cells that must be written together with this one, or a cell on the
   * way to it; `undefined` if no call needs other keys as well.
   */
  root: Cell | undefined;
}

/** A value as it was last seen. */
export interface SeenValue {
  readonly text: string;
  /** The state in its text; `undefined` if it has not been read yet. */
  readonly state: unknown;
  /** The instant until which the server keeps it, by its clock; 0 if it is not known. */
  readonly keptUntil: number;
}

/** A cell of a key about which nothing is known yet. */
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

/**
 * The end of a text whose state is far ahead because of debt. Without this mark, other processes
 * would think that a clock was set back.
 */
const DEBT = " +";

/** The state in a server's text; `undefined` if it is not a state of the algorithm. */
export function decodeText(text: string, { codec }: Algorithm): unknown {
  const state = codec.decode(text);
  return state === undefined && text.endsWith(DEBT)
    ? codec.decode(text.slice(0, -DEBT.length))
    : state;
}

/** Loads the server's text. `seen`, the value last seen, saves parsing the same text again. */
export function loadCell(
  cell: Cell,
  text: string | undefined,
  seen: SeenValue | undefined,
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
  // All writers, the script included, compute this instant from the state in the same way. If other
  // processes replaced the text and then restored it, the instant known for that text is still
  // right.
  const freshAt = now + Math.min(cell.resetAfter, LONGEST);
  const until = (Math.floor(freshAt / LEEWAY) + 1) * LEEWAY + MARGIN;
  if (held === undefined || cell.keptUntil !== until) cell.lifetime = Math.ceil(until - now);
  cell.keptUntil = until;
}

/** Whether the value on the server must be replaced. */
export function isReplaced({ changed, next, held }: Cell): boolean {
  return changed && next !== held;
}

/** Discards what calls changed in the cell, so that the key stays as it is. */
export function discardChanges(cell: Cell): void {
  cell.changed = false;
  cell.state = undefined;
  cell.next = cell.held;
}

/** Ties the cells of one call together, so that they are committed as one, or not at all. */
export function tieCells(cells: readonly Cell[]): void {
  const first = rootOf(cells[0]!);
  for (const cell of cells) rootOf(cell).root = first;
}

/** The cell that represents all cells that are tied to this one. */
export function rootOf(cell: Cell): Cell {
  let root = cell;
  while (root.root !== undefined && root.root !== root) root = root.root;
  return root;
}
