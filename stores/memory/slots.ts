/*
 * The keys of the memory store, and their states. Each family has a `Map` from key to slot, so that a
 * call looks up the caller's own string, without building the stored key. A slot is an index into a few
 * arrays. The two numbers that a call touches lie side by side, so that it misses the cache once:
 *
 *   cells[2 * slot]        the state, if it is a number; `Infinity` if it is anything else, which then
 *                          is in `states`; of a free slot, the next free slot
 *   cells[2 * slot + 1]    when the key is fresh, with the share that is left (`fresh_instant.ts`);
 *                          `NaN` for a free slot
 *
 * A key's state may be a number after one call, and an object after the next. `Infinity` as a number is
 * an arrival time that never comes, so a call that takes units in place refuses it, and then looks
 * closer. `NaN` would be admitted.
 *
 * How a full store finds a key to drop is in `make_room.ts`.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import type { Codec } from "../../core/codec.ts";
import { type StateBytes, stateBytes } from "../../core/algorithms/state_bytes.ts";
import { StoreUnavailableError } from "../../core/errors.ts";

/** The bounds of a memory store. */
export interface Bounds {
  readonly maxKeys: number;
  readonly maxBytes: number;
  readonly onFull: "evict" | "throw";
}

/** The keys of one family. The store lists the table for as long as it holds a key. */
export interface Table {
  /** The part that their stored keys have in common. */
  readonly family: string;
  readonly slots: Map<string, number>;
  /** The algorithm of the first limiter; `undefined` while states are text of a snapshot. */
  readonly algorithm?: Algorithm | undefined;
  /** Converts states to text, and back. */
  readonly codec: Pick<Codec<unknown>, "encode" | "decode">;
  /** The bytes of a state outside of its cell. */
  readonly stateBytes: StateBytes;
  /**
   * For states that are still text of a snapshot: turns them into states of the algorithm that the
   * first limiter of the family brings.
   */
  readonly read?: ((algorithm: Algorithm) => Table) | undefined;
}

/** The keys of a memory store, and their states. */
export interface Slots extends Bounds {
  tables: Map<string, Table>;
  /** The key and the table of each slot. */
  keys: string[];
  owners: (Table | undefined)[];
  /** The states that are not numbers. */
  states: unknown[];
  cells: Float64Array;
  /** The bytes counted for each key with its state. */
  sizes: Int32Array;
  /** The free slot that is used next; -1 if there is none. */
  free: number;
  /** Keys held. */
  size: number;
  /** Bytes of all keys and states. */
  bytes: number;
  /** The slot that the hand passes next. */
  hand: number;
  /** Calls until the hand moves again. */
  rest: number;
  /** How many slots the hand passes at most to find a key that is not used up. */
  mostSteps: number;
  /** The slot of the newest key. */
  newest: number;
  /** No key is fresh before this instant, as far as known: a full store need not look for one. */
  fullUntil: number;
  /** Keys that were dropped although they held use. */
  evictions: number;
  /** States of a snapshot that no algorithm here could read. */
  unreadable: number;
  closed: boolean;
}

/** The member of a memory store that answers with its slots. Stores made of it have it as well. */
export const SLOTS: unique symbol = Symbol("slots");

/**
 * Answers with the slots of a memory store, or of a store made of one, and throws if it is closed;
 * `undefined` for any other store.
 */
export function openSlotsOf(store: unknown): (() => Slots) | undefined {
  const { [SLOTS]: answer } = (store ?? {}) as { readonly [SLOTS]?: () => Slots };
  return answer && (() => {
    const slots = answer();
    requireOpen(slots);
    return slots;
  });
}

/** Slots for which there is room at first. */
const FEW = 64;
/** How many slots the hand passes at most for one call. */
export const MOST_STEPS = 1_024;

/** Makes slots within bounds. */
export function openSlots(bounds: Bounds): Slots {
  return {
    ...bounds,
    tables: new Map(),
    keys: [],
    owners: [],
    states: [],
    cells: new Float64Array(2 * FEW),
    sizes: new Int32Array(FEW),
    free: -1,
    size: 0,
    bytes: 0,
    hand: 0,
    rest: 0,
    mostSteps: MOST_STEPS,
    newest: 0,
    fullUntil: -Infinity,
    evictions: 0,
    unreadable: 0,
    closed: false,
  };
}

/** Throws a `StoreUnavailableError` if the store is closed. */
export function requireOpen({ closed }: Slots): void {
  if (!closed) return;
  throw new StoreUnavailableError("Cannot decide as the memoryStore must be open", "no");
}

/** Forgets all keys, and answers no more. */
export function closeSlots(slots: Slots): void {
  for (const table of slots.tables.values()) table.slots.clear();
  const { evictions, unreadable } = slots;
  Object.assign(slots, openSlots(slots), { evictions, unreadable, closed: true });
}

/** The table of a family. The store lists a new table once it holds a key. */
export function tableOf({ tables }: Slots, family: string, algorithm: Algorithm): Table {
  const held = tables.get(family);
  if (held === undefined) return emptyTable(family, algorithm);
  return held.read === undefined ? held : held.read(algorithm);
}

/** A table without keys. */
export function emptyTable(family: string, algorithm: Algorithm): Table {
  const { codec } = algorithm;
  return { family, slots: new Map(), algorithm, codec, stateBytes: stateBytes(algorithm) };
}

/** The state of a key that is held. */
export function stateIn({ cells, states }: Slots, slot: number): unknown {
  const number = cells[2 * slot]!;
  return number < Infinity ? number : states[slot];
}

/** The instant at which a key is fresh, with the share that is left. */
export function freshAtOf({ cells }: Slots, slot: number): number {
  return cells[2 * slot + 1]!;
}

/** Whether a state lies in a cell. */
function fitsCell(state: unknown): state is number {
  return typeof state === "number" && state < Infinity;
}

/** Whether a state lies in a cell, like the one before it. */
export function isNumberAfterNumber(
  { cells }: Slots,
  slot: number,
  state: unknown,
): state is number {
  return fitsCell(state) && cells[2 * slot]! < Infinity;
}

/** The bytes of a state outside of its cell. */
export function bytesOf({ stateBytes }: Pick<Table, "stateBytes">, state: unknown): number {
  if (fitsCell(state)) return 0;
  return typeof stateBytes === "number" ? stateBytes : stateBytes(state);
}

/** Writes when a key is fresh. */
export function putInstant(slots: Slots, slot: number, freshAt: number): void {
  slots.cells[2 * slot + 1] = freshAt;
  if (freshAt < slots.fullUntil) slots.fullUntil = freshAt;
}

/** Writes the slot of a key. */
export function putState(
  slots: Slots,
  slot: number,
  state: unknown,
  freshAt: number,
  size: number,
): void {
  const { cells, states, sizes } = slots;
  slots.bytes += size - sizes[slot]!;
  sizes[slot] = size;
  putInstant(slots, slot, freshAt);
  const isNumber = fitsCell(state);
  cells[2 * slot] = isNumber ? state : Infinity;
  // Fill the array up to the slot, because engines turn an array with gaps into a dictionary.
  while (!isNumber && states.length <= slot) states.push(undefined);
  if (slot < states.length) states[slot] = isNumber ? undefined : state;
}

/** Gives a key that is not held a slot. There must be room for it. */
export function addSlot(slots: Slots, table: Table, key: string): number {
  const { keys, owners, tables, cells } = slots;
  let slot = slots.free;
  if (slot === -1) {
    slot = keys.length;
    if (slot === slots.sizes.length) grow(slots);
    keys.push(key);
    owners.push(table);
  } else {
    slots.free = cells[2 * slot]!;
    keys[slot] = key;
    owners[slot] = table;
  }
  if (table.slots.size === 0) tables.set(table.family, table);
  table.slots.set(key, slot);
  slots.size++;
  slots.newest = slot;
  return slot;
}

/** Forgets a key that is held. */
export function dropSlot(slots: Slots, slot: number): void {
  const { tables, keys, owners, states, cells, sizes } = slots;
  const table = owners[slot]!;
  table.slots.delete(keys[slot]!);
  if (table.slots.size === 0) tables.delete(table.family);
  keys[slot] = "";
  owners[slot] = undefined;
  if (slot < states.length) states[slot] = undefined;
  slots.bytes -= sizes[slot]!;
  sizes[slot] = 0;
  cells[2 * slot] = slots.free;
  cells[2 * slot + 1] = NaN;
  slots.free = slot;
  slots.size--;
}

function grow(slots: Slots): void {
  const { cells, sizes } = slots;
  const capacity = Math.ceil(1.5 * sizes.length);
  (slots.cells = new Float64Array(2 * capacity)).set(cells);
  (slots.sizes = new Int32Array(capacity)).set(sizes);
}
