/*
 * A batch: what one transaction decides.
 *
 * Each key has a cell: the text that the server holds, and the state after the calls stepped so
 * far. Calls are stepped one after the other over the cells, as if each had been alone; so many
 * calls on one key are one write, and the order in which they came is the order in which they are
 * decided. Nothing in here touches the server.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import type { Decision } from "../../core/decision.ts";
import { halvesOf } from "../../core/halves_of.ts";
import { transact } from "../../core/transact.ts";
import type { KnownValues } from "./known_values.ts";
import type { Job } from "./job.ts";

/** A key of a batch. */
export interface Cell {
  readonly key: string;
  readonly slot: number;
  /** The text that the server holds; `undefined` if none. */
  readonly held: string | undefined;
  /** The state of `held`, once it was read; then the one after the calls stepped so far. */
  state: unknown;
  /** The text to hold after the batch, as `describe` finds it; `undefined` to delete the key. */
  next: string | undefined;
  /** Whether `state` has been read. */
  read: boolean;
  /** Whether `held` is no state of its algorithm. */
  unreadable: boolean;
  /** Whether a call replaced the state. */
  changed: boolean;
  /** Whose state it is; `undefined` before the first call, and when the key was forgotten. */
  algorithm: Algorithm | undefined;
  /** Milliseconds until the state is fresh. */
  resetAfter: number;
  /** Whether some call needs other keys as well as this one. */
  tied: boolean;
  /** The cell that stands for all that must be written together with this one. */
  root: Cell;
}

/** A cell of a key that holds `held`. */
export function cellOf(key: string, slot: number, held: string | undefined): Cell {
  const cell: Omit<Cell, "root"> & { root: Cell | undefined } = {
    key,
    slot,
    held,
    state: undefined,
    next: held,
    read: held === undefined,
    unreadable: false,
    changed: false,
    algorithm: undefined,
    resetAfter: 0,
    tied: false,
    root: undefined,
  };
  cell.root = cell as Cell;
  return cell as Cell;
}

/**
 * Steps a call over the cells; they change only if it is admitted.
 *
 * @throws What a reducer throws at bad input; the cells are unchanged.
 */
export function stepJob(
  { operations, keys, at }: Job,
  cells: ReadonlyMap<string, Cell>,
  now: number,
  known: KnownValues,
): readonly Decision[] {
  const instant = at ?? now;
  if (operations.length === 0) {
    for (const key of keys) forget(cells.get(key)!);
    return [];
  }
  const only = operations[0]!;
  if (operations.length === 1 && only.replaces === undefined) {
    const { algorithm, cost, dry } = only;
    const cell = cells.get(only.key)!;
    const { take, decide } = halvesOf(algorithm);
    const state = stateOf(cell, algorithm, known) ?? algorithm.initial;
    const next = take(state, instant, cost);
    const decision = decide(state, next, instant, cost);
    if (next !== state && !dry) put(cell, algorithm, next, decision.resetAfter);
    return [decision];
  }
  const { decisions, writes } = transact(
    operations,
    (key, algorithm) => stateOf(cells.get(key)!, algorithm, known),
    instant,
  );
  for (const { key, algorithm, state, resetAfter } of writes) {
    put(cells.get(key)!, algorithm, state, resetAfter);
  }
  return decisions;
}

/** Puts the cell's state after the batch in words; answers whether the value is to be replaced. */
export function describe(cell: Cell): boolean {
  if (!cell.changed) return false;
  const { algorithm, state } = cell;
  cell.next = algorithm === undefined || state === algorithm.initial
    ? undefined
    : algorithm.codec.encode(state);
  return cell.next !== cell.held;
}

/** Ties together what one call reads and writes: it is committed as one, or not at all. */
export function tie(keys: readonly string[], cells: ReadonlyMap<string, Cell>): void {
  const first = rootOf(cells.get(keys[0]!)!);
  for (const key of keys) {
    const cell = cells.get(key)!;
    cell.tied = true;
    rootOf(cell).root = first;
  }
}

/** The cell that stands for all that are tied to this one. */
export function rootOf(cell: Cell): Cell {
  let root = cell;
  while (root.root !== root) root = root.root;
  return root;
}

function stateOf(cell: Cell, algorithm: Algorithm, known: KnownValues): unknown {
  if (!cell.read) {
    cell.read = true;
    cell.state = known.stateOf(cell.key, cell.held!, algorithm);
    cell.unreadable = cell.state === undefined;
  }
  return cell.state;
}

function put(cell: Cell, algorithm: Algorithm, state: unknown, resetAfter: number): void {
  cell.read = true;
  cell.changed = true;
  cell.state = state;
  cell.algorithm = algorithm;
  cell.resetAfter = resetAfter;
}

function forget(cell: Cell): void {
  cell.read = true;
  cell.changed = true;
  cell.state = undefined;
  cell.algorithm = undefined;
}
