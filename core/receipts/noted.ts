/*
 * States with notes. As long as no receipt has come back to a key, its state is that of its
 * algorithm: often one number. Whatever receipts need beyond that is noted around this state, and
 * only if there is something to note:
 *
 *   back      ticks that receipts gave back to the key, where an algorithm drains entries
 *   receipts with a time to live that are yet to be settled, and receipts that were settled, so
 *   that no caller settles them twice
 */

import type { Algorithm } from "../algorithm.ts";
import { type OpenReceipt, type RememberedReceipts, SETTLED_WIDTH } from "./remembered_receipts.ts";

/**
 * The most receipts with a time to live that a key remembers. A further call's receipt has no time
 * to live.
 */
export const MOST_OPEN = 64;
/** How many settled receipts a key remembers, namely the newest. */
export const MOST_SETTLED = 16;

/**
 * A state with notes.
 *
 * @typeParam State The algorithm's own state.
 */
export interface Noted<State = unknown> {
  /** The algorithm's own state. */
  readonly state: State;
  /** Ticks that were given back by receipts. */
  readonly back: number;
  /** Receipts that are remembered. */
  readonly entries: RememberedReceipts;
}

/**
 * A state with notes, as a class. Stores check at each call whether a state, an object of any
 * shape, has notes. For a class, engines do that fast, by comparing prototypes.
 */
class NotedState<State> implements Noted<State> {
  readonly state: State;
  readonly back: number;
  readonly entries: RememberedReceipts;

  constructor(state: State, back: number, entries: RememberedReceipts) {
    this.state = state;
    this.back = back;
    this.entries = entries;
  }
}

/** A state with these notes. */
export function withNotes<State>(
  state: State,
  back: number,
  entries: RememberedReceipts,
): Noted<State> {
  return new NotedState(state, back, entries);
}

/** Whether a state has notes. */
export function isNoted<State>(state: State | Noted<State>): state is Noted<State> {
  return state instanceof NotedState;
}

/** No receipts. */
export const NO_ENTRIES: RememberedReceipts = Object.freeze({
  open: Object.freeze([]),
  settled: Object.freeze([]),
});

/** Receipts of both kinds. */
export function entriesOfBoth(
  open: readonly OpenReceipt[],
  settled: readonly number[],
): RememberedReceipts {
  return open.length === 0 && settled.length === 0 ? NO_ENTRIES : { open, settled };
}

/** A state with notes if there is something to note, otherwise the plain state. */
export function noted<State>(
  state: State,
  back: number,
  entries: RememberedReceipts,
): State | Noted<State> {
  return back === 0 && entries === NO_ENTRIES ? state : withNotes(state, back, entries);
}

/** The algorithm's own state, without notes. */
export function plainState<State>(state: State | Noted<State>): State {
  return isNoted(state) ? state.state : state;
}

/** Ticks that were given back. */
export function backOf(state: unknown): number {
  return isNoted(state) ? state.back : 0;
}

/** Receipts that a state remembers. */
export function entriesOf(state: unknown): RememberedReceipts {
  return isNoted(state) ? state.entries : NO_ENTRIES;
}

/**
 * Whether a state, or the state of a part of `all`, has notes. Such states are kept as text: the
 * words of a codec hold states without notes.
 */
export function hasNotes({ internals }: Algorithm, state: unknown): boolean {
  if (typeof state !== "object") return false;
  if (isNoted(state)) return true;
  const { parts, blocks } = internals ?? {};
  if (blocks !== undefined) return hasNotes(blocks.inner, blocks.covered(state));
  return parts !== undefined &&
    parts.some((part, index) => hasNotes(part, (state as readonly unknown[])[index]));
}

/**
 * Receipts, with one open receipt removed and another one added.
 *
 * @param without The place of the receipt to remove; -1 for none.
 */
export function withOpen(
  { open, settled }: RememberedReceipts,
  without: number,
  entry: OpenReceipt | undefined,
): RememberedReceipts {
  const next = open.filter((_, place) => place !== without);
  if (entry !== undefined) {
    let place = next.length;
    while (place > 0 && next[place - 1]!.until > entry.until) place--;
    next.splice(place, 0, entry);
  }
  return entriesOfBoth(next, settled);
}

/**
 * Receipts with one more settled receipt, or with new numbers of a known one. If there are too
 * many, the receipt that would be forgotten first makes room.
 *
 * @param place The index at which its numbers begin; -1 if it is not remembered.
 */
export function withSettled(
  { open, settled }: RememberedReceipts,
  place: number,
  until: number,
  id: number,
  units: number,
): RememberedReceipts {
  const isFull = settled.length === SETTLED_WIDTH * MOST_SETTLED;
  // A copy of its exact length: `push` would leave room for more.
  const next = place !== -1 || isFull ? settled.slice() : settled.concat(until, id, units);
  let at = place !== -1 ? place : isFull ? 0 : settled.length;
  const last = next.length - SETTLED_WIDTH;
  for (; at < last && next[at + SETTLED_WIDTH]! <= until; at += SETTLED_WIDTH) {
    move(next, at + SETTLED_WIDTH, at);
  }
  for (; at > 0 && next[at - SETTLED_WIDTH]! > until; at -= SETTLED_WIDTH) {
    move(next, at - SETTLED_WIDTH, at);
  }
  next[at] = until;
  next[at + 1] = id;
  next[at + 2] = units;
  return { open, settled: next };
}

function move(numbers: number[], from: number, to: number): void {
  numbers[to] = numbers[from]!;
  numbers[to + 1] = numbers[from + 1]!;
  numbers[to + 2] = numbers[from + 2]!;
}

/** The units that may yet be given back of a receipt; `undefined` if it is not remembered. */
export function unitsLeft({ open, settled }: RememberedReceipts, id: number): number | undefined {
  for (let place = 0; place < settled.length; place += SETTLED_WIDTH) {
    if (settled[place + 1] === id) return settled[place + 2];
  }
  return open.find((entry) => entry.id === id)?.units;
}

/** Whether one more receipt with a time to live can be remembered. */
export function hasRoom({ open }: RememberedReceipts): boolean {
  return open.length < MOST_OPEN;
}

/**
 * The bytes of a note's objects, of an open receipt, and of a settled receipt's numbers: averages
 * measured on V8.
 */
const NOTE_BYTES = 150;
const ENTRY_BYTES = 110;
const SETTLED_BYTES = 24;

/** How many bytes the notes of a state take. */
export function notesBytes({ entries: { open, settled } }: Noted): number {
  let marks = 0;
  for (const entry of open) marks += entry.marks.length;
  return NOTE_BYTES + ENTRY_BYTES * open.length + 16 * marks +
    SETTLED_BYTES * (settled.length / SETTLED_WIDTH);
}
