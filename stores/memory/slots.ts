/*
 * The keys of the memory store. Each limiter has a table of its own from key to slot, so that a call
 * looks up the caller's key, without building the stored one. A slot's state lies in a cell of the
 * expiry queue if the algorithm's states are numbers, and in a plain array otherwise. `maxKeys` bounds
 * all slots together, and so does `maxBytes`, by the counts of `key_bytes.ts`.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { levelOf } from "../../core/arithmetic/fresh_instant.ts";
import { type StateBytes, stateBytes } from "../../core/algorithms/state_bytes.ts";
import { StoreFullError, StoreUnavailableError } from "../../core/errors.ts";
import { errorMessage } from "../../core/options/checks.ts";
import {
  dueAt,
  type ExpiryQueue,
  expiryQueue,
  firstSlot,
  freshAtOf,
  refreshFirst,
  removeSlot,
  STATE,
  WIDTH,
} from "./expiry_queue.ts";
import { isNoted, notesBytes } from "../../core/receipts/noted.ts";
import { SLOT_BYTES, textBytes } from "./key_bytes.ts";
import {
  allSlots,
  emptyTable,
  forgetKey,
  isBesideOthers,
  isEmpty,
  keepKey,
  type Table,
  tableFor,
} from "./table.ts";
import {
  anySlot,
  moveToLevel,
  removeFromLevel,
  slotOfLowest,
  type UseLevels,
  useLevels,
} from "./use_levels.ts";

/** The bounds of a memory store. */
export interface SlotBounds {
  readonly maxKeys: number;
  readonly maxBytes: number;
  readonly onFull: "evict" | "throw";
}

/** The keys of a memory store, and their states. */
export interface Slots extends SlotBounds {
  readonly tables: Map<string, Table>;
  /** The key, the table and the state of each slot. A state in a cell is not repeated here. */
  readonly keys: (string | undefined)[];
  readonly owners: Table[];
  readonly objects: unknown[];
  /** The bytes counted for each slot's key, without its state. */
  texts: Int32Array;
  /** Slots that were used and are free again. */
  readonly freed: number[];
  readonly queue: ExpiryQueue;
  /** Decides which key to forget when all keys hold use. */
  readonly use: UseLevels;
  /** The number of slots for which there is room. */
  capacity: number;
  /** The bytes counted for the room of slots, and for all keys and states. */
  bytes: number;
  /** The instant at which a key may have been fresh for a while. An instant too early does no harm. */
  sweepAt: number;
  /** Keys whose states have notes. */
  noted: number;
  /** Keys that were dropped although they held use. */
  evictions: number;
  /** States of a snapshot that no algorithm here could read. */
  unreadable: number;
  closed: boolean;
}

/**
 * Milliseconds for which a key that is fresh again stays while there is room. Without them, a key that
 * is called now and then would be dropped and added anew at each call.
 */
export const FRESH_GRACE = 5_000;

/**
 * How many slots that may be fresh a call examines. They are more than a call can add or outdate, so
 * that no backlog grows, and few, so that no call takes long.
 */
const STEPS = 8;

/** Makes slots within bounds. */
export function openSlots(bounds: SlotBounds): Slots {
  const capacity = Math.min(mostSlots(bounds), 64);
  return {
    ...bounds,
    tables: new Map(),
    keys: [],
    owners: [],
    objects: [],
    texts: new Int32Array(capacity),
    freed: [],
    queue: expiryQueue(capacity),
    use: useLevels(capacity),
    capacity,
    bytes: capacity * SLOT_BYTES,
    sweepAt: Infinity,
    noted: 0,
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

/** The limiter's table. The store registers a new table once it holds a key. */
export function tableOf(slots: Slots, family: string, algorithm: Algorithm): Table {
  const { initial, codec } = algorithm;
  const held = slots.tables.get(family);
  if (held?.algorithm !== undefined) return held;
  const numeric = typeof initial === "number" && codec.maxWords === 1;
  const bytes = stateBytes(algorithm);
  if (held === undefined) return emptyTable(family, numeric, algorithm, bytes);
  return claim(slots, held, { ...held, numeric, algorithm, stateBytes: bytes });
}

/** Turns the text that a snapshot had for the keys of a family into states. */
function claim(slots: Slots, texts: Table, table: Table): Table {
  const { tables, owners, objects, queue } = slots;
  tables.set(table.family, table);
  for (const slot of allSlots(texts)) {
    const state = table.algorithm!.codec.decode(objects[slot] as string);
    if (state === undefined) {
      slots.unreadable++;
      dropSlot(slots, slot);
      continue;
    }
    slots.bytes += bytesOf(table, state) - bytesOf(texts, objects[slot]);
    owners[slot] = table;
    if (isBesideOthers(table, state)) {
      putBeside(slots, table, slot, state);
      objects[slot] = state;
    } else if (table.numeric) {
      objects[slot] = undefined;
      queue.cells[WIDTH * slot + STATE] = state as number;
    } else objects[slot] = state;
  }
  // States may take more bytes than their text. Without an instant, no key counts as fresh here.
  if (slots.onFull === "evict") makeRoom(slots, NOTHING, 0);
  return table;
}

/** Moves a slot to the table of states with notes. */
function putBeside(slots: Slots, table: Table, slot: number, state: unknown): void {
  const { tables, keys, owners } = slots;
  const beside = tableFor(tables, table, state);
  const key = keys[slot]!;
  forgetKey(table, key);
  keepKey(beside, key, slot);
  tables.set(beside.family, beside);
  owners[slot] = beside;
  slots.noted++;
}

/** The state of a key that is held. */
export function stateIn({ owners, queue, objects }: Slots, slot: number): unknown {
  return owners[slot]!.numeric ? queue.cells[WIDTH * slot + STATE] : objects[slot];
}

/** Moves a slot to the level of its last call. */
export function refreshLevel({ queue, use }: Slots, slot: number): void {
  moveToLevel(use, slot, levelOf(freshAtOf(queue, slot)));
}

/** Forgets a key that is held. */
export function dropSlot(slots: Slots, slot: number): void {
  const { tables, keys, owners, objects, queue, use, freed } = slots;
  const table = owners[slot]!;
  slots.bytes -= heldBytes(slots, table, slot);
  forgetKey(table, keys[slot]!);
  if (table.isBeside) slots.noted--;
  if (isEmpty(table)) tables.delete(table.family);
  keys[slot] = undefined;
  if (slot < objects.length) objects[slot] = undefined;
  removeSlot(queue, slot);
  removeFromLevel(use, slot);
  freed.push(slot);
}

/** An addition to the store: keys, and bytes of keys and states. */
export interface Addition {
  readonly keys: number;
  readonly bytes: number;
}

/** Adds nothing, so that only an excess is dropped. */
export const NOTHING = (): Addition => ({ keys: 0, bytes: 0 });

/** Makes room for new keys. If keys that hold use may not go, it throws before it drops one. */
export function makeRoom(slots: Slots, added: () => Addition, now: number): void {
  const { queue, onFull } = slots;
  for (let { keys, bytes } = added(); lacksRoom(slots, keys, bytes); { keys, bytes } = added()) {
    const fresh = freshSlot(queue, now);
    if (fresh !== undefined) dropSlot(slots, fresh);
    else if (queue.size === 0 || onFull === "throw") throw full(slots);
    else {
      slots.evictions++;
      dropSlot(slots, leastUsed(slots));
    }
  }
}

/** The bytes of a key with a state. Throws if they are more than half of the store's bytes. */
export function requiredBytes(
  slots: Slots,
  table: Table,
  key: string,
  state: unknown,
): number {
  return requireFit(slots, textBytes(key) + bytesOf(table, state));
}

/** The bytes of a key that is held; 0 without a slot. */
export function heldBytes(
  { texts, objects }: Slots,
  table: Table,
  slot: number | undefined,
): number {
  return slot === undefined ? 0 : texts[slot]! + bytesOf(table, objects[slot]);
}

/** Whether a key and its state take more than half of a store's bytes. */
export function takesTooMuch({ maxBytes }: SlotBounds, bytes: number): boolean {
  return bytes > maxBytes / 2;
}

/** Throws a `StoreFullError` if a key and its state take more than half of a store's bytes. */
export function requireFit(bounds: SlotBounds, bytes: number): number {
  if (!takesTooMuch(bounds, bytes)) return bytes;
  throw new StoreFullError(
    errorMessage(
      "keep a key",
      `its text and state must take at most half of maxBytes (${bounds.maxBytes})`,
      bytes,
    ),
  );
}

/** The bytes of a state outside its cell. */
export function bytesOf({ numeric, stateBytes }: Table, state: unknown): number {
  if (isNoted(state)) return notesBytes(state) + bytesOfPlain(stateBytes, state.state);
  return numeric || state === undefined ? 0 : bytesOfPlain(stateBytes, state);
}

function bytesOfPlain(stateBytes: StateBytes, state: unknown): number {
  return typeof stateBytes === "number" ? stateBytes : stateBytes(state);
}

/** Whether keys can be added only if others go. */
export function lacksRoom(slots: Slots, keys: number, bytes: number): boolean {
  const { maxKeys, maxBytes, queue, capacity } = slots;
  const held = queue.size + keys;
  const room = held <= capacity ? 0 : (nextCapacity(slots) - capacity) * SLOT_BYTES;
  return held > maxKeys || slots.bytes + bytes + room > maxBytes ||
    (held > capacity && room === 0);
}

/** The most slots. They take up to half of `maxBytes`, so that the rest is left for keys. */
function mostSlots({ maxKeys, maxBytes }: SlotBounds): number {
  return Math.min(maxKeys, Math.floor(maxBytes / 2 / SLOT_BYTES));
}

/** The number of slots after the next growth. */
export function nextCapacity(slots: Slots): number {
  return Math.min(mostSlots(slots), Math.ceil(slots.capacity * 1.5));
}

/** Drops keys that have been fresh for a while. */
export function sweep(slots: Slots, now: number): void {
  const { queue } = slots;
  for (let step = 0; step < STEPS && dueAt(queue) + FRESH_GRACE <= now; step++) {
    const slot = firstSlot(queue);
    if (freshAtOf(queue, slot) + FRESH_GRACE <= now) dropSlot(slots, slot);
    else refreshFirst(queue);
  }
  slots.sweepAt = dueAt(queue) + FRESH_GRACE;
}

/** A slot whose key is fresh, if there is one among the first few of the queue. */
function freshSlot(queue: ExpiryQueue, now: number): number | undefined {
  for (let step = 0; step < STEPS && dueAt(queue) <= now; step++) {
    const slot = firstSlot(queue);
    if (freshAtOf(queue, slot) <= now) return slot;
    refreshFirst(queue);
  }
  return undefined;
}

/** The slot of the key with the least use, among a few keys if many levels are outdated. */
function leastUsed(slots: Slots): number {
  const { use } = slots;
  const { levels } = use;
  // Also examine any other slot: a key whose calls lowered its use is still on a higher level.
  refreshLevel(slots, anySlot(use));
  let least = slotOfLowest(use);
  for (let step = 0; step < STEPS; step++) {
    const slot = slotOfLowest(use);
    const known = levels[slot]!;
    refreshLevel(slots, slot);
    if (levels[slot]! <= known) return slot;
    if (step === 0 || levels[slot]! < levels[least]!) least = slot;
  }
  return least;
}

function full({ maxKeys, maxBytes, queue, bytes }: Slots): StoreFullError {
  const [rule, value] = queue.size < maxKeys
    ? [`memoryStore must hold less than its maxBytes of ${maxBytes}`, bytes]
    : ["memoryStore must hold fewer than maxKeys keys in use", maxKeys];
  return new StoreFullError(errorMessage("keep a new key", rule, value));
}
