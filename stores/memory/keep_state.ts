/*
 * Puts a state into the slot of its key. For a new key it first makes room.
 */

import { levelOf } from "../../core/arithmetic/fresh_instant.ts";
import {
  addSlot,
  BOUND,
  FRESH_AT,
  freshAtOf,
  growQueue,
  moveUp,
  STATE,
  WIDTH,
} from "./expiry_queue.ts";
import { SLOT_BYTES, textBytes } from "./key_bytes.ts";
import {
  bytesOf,
  dropSlot,
  FRESH_GRACE,
  lacksRoom,
  makeRoom,
  nextCapacity,
  NOTHING,
  refreshLevel,
  requireFit,
  type Slots,
  sweep,
  takesTooMuch,
} from "./slots.ts";
import { isBesideOthers, keepKey, type Table, tableFor } from "./table.ts";
import { addToLevel, growLevels } from "./use_levels.ts";

/**
 * Keeps a key's next state, in its slot if it has one; a fresh key is forgotten.
 *
 * @param freshAt The instant at which the key is fresh, by `freshInstant`, with the share of the
 * capacity that the call left.
 */
export function keepState(
  slots: Slots,
  table: Table,
  key: string,
  slot: number | undefined,
  state: unknown,
  initial: unknown,
  freshAt: number,
  now: number,
): void {
  const isMoved = slot !== undefined &&
    slots.owners[slot]!.isBeside !== isBesideOthers(table, state);
  if (slot !== undefined && (state === initial || isMoved)) dropSlot(slots, slot);
  if (state === initial) return;
  if (slot === undefined || isMoved) addKey(slots, table, key, state, freshAt, now);
  else replaceState(slots, slots.owners[slot]!, slot, state, freshAt, now);
}

/** Adds a key that the store did not hold. */
export function addKey(
  slots: Slots,
  own: Table,
  key: string,
  state: unknown,
  freshAt: number,
  now: number,
): void {
  const table = tableFor(slots.tables, own, state);
  const text = textBytes(key);
  const slot = freeSlot(slots, requireFit(slots, text + bytesOf(table, state)), now);
  const { tables, keys, owners, objects, queue, use } = slots;
  slots.texts[slot] = text;
  slots.bytes += text;
  if (table !== own) slots.noted++;
  tables.set(table.family, table);
  keepKey(table, key, slot);
  keys[slot] = key;
  owners[slot] = table;
  if (!table.numeric) {
    // Fill the array up to the slot, because engines turn an array with gaps into a dictionary.
    while (objects.length <= slot) objects.push(undefined);
  }
  addSlot(queue, slot, freshAt);
  addToLevel(use, slot, levelOf(freshAt));
  if (freshAt + FRESH_GRACE < slots.sweepAt) slots.sweepAt = freshAt + FRESH_GRACE;
  replaceState(slots, table, slot, state, freshAt, now);
}

/** Replaces the state of a key that the store holds. */
export function replaceState(
  slots: Slots,
  table: Table,
  slot: number,
  state: unknown,
  freshAt: number,
  now: number,
): void {
  const { objects } = slots;
  if (!table.numeric) {
    const held = objects[slot];
    const mayGrow = held === undefined || typeof table.stateBytes === "function" || table.isBeside;
    const grown = mayGrow ? bytesOf(table, state) - bytesOf(table, held) : 0;
    if (grown !== 0) countGrowth(slots, table, slot, state, grown, now);
    objects[slot] = state;
  }
  writeCell(slots, slot, table.numeric ? state as number : 0, freshAt);
  afterCall(slots, slot, true, now);
  keepBound(slots, now);
}

/** Counts the bytes by which a key's next state is larger. Throws if there is no room. */
export function countGrowth(
  slots: Slots,
  table: Table,
  slot: number,
  state: unknown,
  grown: number,
  now: number,
): void {
  if (grown > 0 && takesTooMuch(slots, slots.bytes + grown)) {
    requireFit(slots, slots.texts[slot]! + bytesOf(table, state));
    const isFull = slots.onFull === "throw" && lacksRoom(slots, 0, grown);
    if (isFull) makeRoomFor(slots, slot, grown, now);
  }
  slots.bytes += grown;
}

/** Forgets keys where a state has grown too much. */
export function keepBound(slots: Slots, now: number): void {
  if (slots.bytes > slots.maxBytes) makeRoom(slots, NOTHING, now);
}

/** Makes room for more bytes of a key. The key itself stays, even if it is fresh. */
function makeRoomFor(slots: Slots, slot: number, bytes: number, now: number): void {
  const { queue } = slots;
  const freshAt = freshAtOf(queue, slot);
  queue.cells[WIDTH * slot + FRESH_AT] = Infinity;
  try {
    makeRoom(slots, () => ({ keys: 0, bytes }), now);
  } finally {
    queue.cells[WIDTH * slot + FRESH_AT] = freshAt;
    moveUp(queue, slot);
  }
}

/**
 * Writes the cell of a key that the store holds: its state, if that is a number, and the instant at
 * which it is fresh.
 */
export function writeCell(slots: Slots, slot: number, state: number, freshAt: number): void {
  const { cells } = slots.queue;
  const cell = WIDTH * slot;
  cells[cell + STATE] = state;
  cells[cell + FRESH_AT] = freshAt;
  if (freshAt < cells[cell + BOUND]!) moveUp(slots.queue, slot);
}

/** The rest of the work after a call on a known key, which is seldom needed. */
export function afterCall(slots: Slots, slot: number, writes: boolean, now: number): void {
  refreshLevel(slots, slot);
  if (writes && now >= slots.sweepAt) sweep(slots, now);
}

/** The same after a call that gave units back: the key may now be fresh before its bound. */
export function afterFree(slots: Slots, slot: number, now: number): void {
  const { queue } = slots;
  if (freshAtOf(queue, slot) < queue.cells[WIDTH * slot + BOUND]!) moveUp(queue, slot);
  afterCall(slots, slot, true, now);
}

/** A slot for a new key of so many bytes. */
function freeSlot(slots: Slots, bytes: number, now: number): number {
  if (lacksRoom(slots, 1, bytes)) makeRoom(slots, () => ({ keys: 1, bytes }), now);
  const { freed, queue, capacity } = slots;
  const free = freed.pop() ?? queue.size;
  if (free === capacity) grow(slots);
  return free;
}

/** Makes room for more slots. */
function grow(slots: Slots): void {
  const { capacity, texts } = slots;
  const next = nextCapacity(slots);
  slots.capacity = next;
  slots.bytes += (next - capacity) * SLOT_BYTES;
  growQueue(slots.queue, next);
  growLevels(slots.use, next);
  (slots.texts = new Int32Array(next)).set(texts);
}
