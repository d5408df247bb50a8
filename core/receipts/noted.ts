/*
 * States with notes. The state of a key that never saw a receipt come back is what its algorithm says:
 * often one number. What receipts need beyond it is noted around that state, and only where there is
 * something to note:
 *
 *   back      ticks that receipts gave back to the key, where an algorithm drains
 *   entries   receipts with a time to live that are yet to be settled, and receipts that were settled,
 *             so that nobody settles them twice
 */

import type { Algorithm } from "../algorithm.ts";
import type { Entry } from "./entry.ts";

/** The most receipts with a time to live that a key remembers: a call beyond it has none. */
export const MOST_OPEN = 64;
/** The most settled receipts that a key remembers, the newest ones. */
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
  /** Receipts, by `until`. */
  readonly entries: readonly Entry[];
}

/**
 * The states with notes. Stores ask at each call, of objects of many shapes, and engines compare the
 * prototype of an object of a class in the machine code of the call.
 */
class NotedState<State> implements Noted<State> {
  readonly state: State;
  readonly back: number;
  readonly entries: readonly Entry[];

  constructor(state: State, back: number, entries: readonly Entry[]) {
    this.state = state;
    this.back = back;
    this.entries = entries;
  }
}

/** A state with these notes. */
export function withNotes<State>(
  state: State,
  back: number,
  entries: readonly Entry[],
): Noted<State> {
  return new NotedState(state, back, entries);
}

/** Whether a state has notes. */
export function isNoted<State>(state: State | Noted<State>): state is Noted<State> {
  return state instanceof NotedState;
}

/** No receipts. */
export const NO_ENTRIES: readonly Entry[] = Object.freeze([]);

/** A state with notes, if there is something to note. */
export function noted<State>(
  state: State,
  back: number,
  entries: readonly Entry[],
): State | Noted<State> {
  return back === 0 && entries.length === 0 ? state : withNotes(state, back, entries);
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
export function entriesOf(state: unknown): readonly Entry[] {
  return isNoted(state) ? state.entries : NO_ENTRIES;
}

/**
 * Whether a state, or that of a part of `all`, has notes. Such states are kept as text: the words of
 * a codec hold states without notes.
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
 * Entries in order, without one of them and with another.
 *
 * @param without The place of the one that goes; -1 for none.
 */
export function withEntry(
  entries: readonly Entry[],
  without: number,
  entry: Entry | undefined,
): readonly Entry[] {
  const next: Entry[] = [];
  let added = entry;
  for (let place = 0; place < entries.length; place++) {
    if (place === without) continue;
    const each = entries[place]!;
    if (added !== undefined && each.until > added.until) {
      next.push(added);
      added = undefined;
    }
    next.push(each);
  }
  if (added !== undefined) next.push(added);
  return next;
}

/**
 * The same with one that is settled: if too many are, the one that would be forgotten first gives way
 * to it.
 */
export function withSettled(
  entries: readonly Entry[],
  without: number,
  entry: Entry,
): readonly Entry[] {
  return withEntry(entries, without === -1 ? forgotten(entries) : without, entry);
}

/** The place of the first settled entry if there are as many as may be; -1 otherwise. */
function forgotten(entries: readonly Entry[]): number {
  if (entries.length < MOST_SETTLED) return -1;
  let settled = 0;
  let first = -1;
  for (let place = entries.length - 1; place >= 0; place--) {
    if (entries[place]!.marks !== undefined) continue;
    settled++;
    first = place;
  }
  return settled < MOST_SETTLED ? -1 : first;
}

/** Whether one of some receipts has a time to live, and is not settled. */
export function hasOpen(entries: readonly Entry[]): boolean {
  for (let place = entries.length - 1; place >= 0; place--) {
    if (entries[place]!.marks !== undefined) return true;
  }
  return false;
}

/** Whether one more receipt with a time to live can be remembered. */
export function hasRoom(entries: readonly Entry[]): boolean {
  return entries.length < MOST_OPEN ||
    entries.reduce((open, { marks }) => open + (marks === undefined ? 0 : 1), 0) < MOST_OPEN;
}

/** A note's object, and an entry's, in bytes: averages of what V8 was seen to take of such objects. */
const NOTE_BYTES = 80;
const ENTRY_BYTES = 110;

/** How many bytes the notes of a state take. */
export function notesBytes({ entries }: Noted): number {
  let marks = 0;
  for (const entry of entries) marks += entry.marks?.length ?? 0;
  return NOTE_BYTES + ENTRY_BYTES * entries.length + 16 * marks;
}
