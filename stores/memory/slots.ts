/*
 * Where the memory store keeps its keys. Each limiter has a table of its own from key to slot, so
 * that a call looks its key up as it was given, without building the stored one. A slot's state lies
 * in a cell of the expiry queue if the algorithm's states are numbers, and in a plain array
 * otherwise. All slots together are bounded by `maxKeys`.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { leavesLevel, levelOf } from "../../core/arithmetic/fresh_instant.ts";
import { StoreFullError, StoreUnavailableError } from "../../core/errors.ts";
import { errorMessage } from "../../core/options/checks.ts";
import {
  addSlot,
  BOUND,
  dueAt,
  type ExpiryQueue,
  expiryQueue,
  firstSlot,
  FRESH_AT,
  freshAtOf,
  growQueue,
  moveUp,
  refreshFirst,
  removeSlot,
  STATE,
  WIDTH,
} from "./expiry_queue.ts";
import { allSlots, emptyTable, forgetKey, isEmpty, keepKey, type Table } from "./table.ts";
import {
  addToLevel,
  anySlot,
  growLevels,
  moveToLevel,
  removeFromLevel,
  slotOfLowest,
  type UseLevels,
  useLevels,
} from "./use_levels.ts";

/** The keys of a memory store, and their states. */
export interface Slots {
  readonly maxKeys: number;
  readonly onFull: "evict" | "throw";
  readonly tables: Map<string, Table>;
  /** The key, the table and the state of each slot; the state if it is not in a cell. */
  readonly keys: (string | undefined)[];
  readonly owners: Table[];
  readonly objects: unknown[];
  /** Slots that were used, and are free again. */
  readonly freed: number[];
  readonly queue: ExpiryQueue;
  /** Decides which key to forget when all of them hold use. */
  readonly use: UseLevels;
  /** For how many slots the queue and the levels have room. */
  capacity: number;
  /** When the next key may have been fresh for a while; an instant that is too early does no harm. */
  sweepAt: number;
  /** Keys that were dropped although they held use. */
  evictions: number;
  /** States of a snapshot that no algorithm here has. */
  unreadable: number;
  closed: boolean;
}

/**
 * For how many milliseconds a key that is fresh again stays while there is room: one that is called
 * now and then would otherwise be dropped and added anew at each call.
 */
const FRESH_GRACE = 5_000;

/**
 * How many slots a call looks at, of those that may be fresh: more than it can add or leave outdated,
 * so that none are left over, and few, so that no call takes long.
 */
const STEPS = 8;

/** Makes slots for at most `maxKeys` keys. */
export function openSlots(maxKeys: number, onFull: "evict" | "throw"): Slots {
  const capacity = Math.min(maxKeys, 64);
  return {
    maxKeys,
    onFull,
    tables: new Map(),
    keys: [],
    owners: [],
    objects: [],
    freed: [],
    queue: expiryQueue(capacity),
    use: useLevels(capacity),
    capacity,
    sweepAt: Infinity,
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

/** The limiter's table: the one that holds its keys, or one that is registered with the first. */
export function tableOf(slots: Slots, family: string, algorithm: Algorithm): Table {
  const { initial, codec } = algorithm;
  const held = slots.tables.get(family);
  if (held?.codec !== undefined) return held;
  const numeric = typeof initial === "number" && codec.maxWords === 1;
  const table = emptyTable(family, numeric, codec);
  return held === undefined ? table : claim(slots, held, { ...held, numeric, codec });
}

/** Makes states of the text that a snapshot had for the keys of a family. */
function claim(slots: Slots, texts: Table, table: Table): Table {
  const { tables, owners, objects, queue } = slots;
  tables.set(table.family, table);
  for (const slot of allSlots(texts)) {
    const state = table.codec!.decode(objects[slot] as string);
    owners[slot] = table;
    if (state === undefined) {
      slots.unreadable++;
      dropSlot(slots, slot);
    } else if (table.numeric) {
      objects[slot] = undefined;
      queue.cells[WIDTH * slot + STATE] = state as number;
    } else objects[slot] = state;
  }
  return table;
}

/** The state of a key that is held. */
export function stateIn({ queue, objects }: Slots, table: Table, slot: number): unknown {
  return table.numeric ? queue.cells[WIDTH * slot + STATE] : objects[slot];
}

/**
 * Keeps a key's next state, in its slot if it has one; a fresh key is forgotten.
 *
 * @param freshAt When the key is fresh, by `freshInstant`: with the share that its call left.
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
  if (state === initial) {
    if (slot !== undefined) dropSlot(slots, slot);
  } else if (slot === undefined) addKey(slots, table, key, state, freshAt, now);
  else replaceState(slots, table, slot, state, freshAt, now);
}

/** Adds a key that was not held. */
export function addKey(
  slots: Slots,
  table: Table,
  key: string,
  state: unknown,
  freshAt: number,
  now: number,
): void {
  const slot = freeSlot(slots, now);
  const { tables, keys, owners, objects, queue, use } = slots;
  tables.set(table.family, table);
  keepKey(table, key, slot);
  keys[slot] = key;
  owners[slot] = table;
  if (!table.numeric) {
    // Filled up to the slot, because an array with gaps would become a dictionary.
    while (objects.length <= slot) objects.push(undefined);
  }
  addSlot(queue, slot, freshAt);
  addToLevel(use, slot, levelOf(freshAt));
  if (freshAt + FRESH_GRACE < slots.sweepAt) slots.sweepAt = freshAt + FRESH_GRACE;
  replaceState(slots, table, slot, state, freshAt, now);
}

/** Replaces the state of a key that is held. */
export function replaceState(
  slots: Slots,
  table: Table,
  slot: number,
  state: unknown,
  freshAt: number,
  now: number,
): void {
  if (!table.numeric) slots.objects[slot] = state;
  keepNumber(slots, slot, table.numeric ? state as number : 0, freshAt, now);
}

/** Replaces a state that is a number. */
export function keepNumber(
  slots: Slots,
  slot: number,
  state: number,
  freshAt: number,
  now: number,
): void {
  const { cells } = slots.queue;
  const cell = WIDTH * slot;
  cells[cell + STATE] = state;
  cells[cell + FRESH_AT] = freshAt;
  if (freshAt < cells[cell + BOUND]!) moveUp(slots.queue, slot);
  if (leavesLevel(freshAt, slots.use.levels[slot]!)) refreshLevel(slots, slot);
  if (now >= slots.sweepAt) sweep(slots, now);
}

/** Moves a slot to the level of its last call. */
export function refreshLevel({ queue, use }: Slots, slot: number): void {
  moveToLevel(use, slot, levelOf(freshAtOf(queue, slot)));
}

/** Forgets a key that is held. */
export function dropSlot(slots: Slots, slot: number): void {
  const { tables, keys, owners, objects, queue, use, freed } = slots;
  const table = owners[slot]!;
  forgetKey(table, keys[slot]!);
  if (isEmpty(table)) tables.delete(table.family);
  keys[slot] = undefined;
  if (slot < objects.length) objects[slot] = undefined;
  removeSlot(queue, slot);
  removeFromLevel(use, slot);
  freed.push(slot);
}

/** Makes room for new keys; or throws before any that holds use is dropped, if it may not go. */
export function makeRoom(slots: Slots, newKeys: () => number, now: number): void {
  const { queue, maxKeys, onFull } = slots;
  while (queue.size + newKeys() > maxKeys) {
    const fresh = freshSlot(queue, now);
    if (fresh !== undefined) dropSlot(slots, fresh);
    else if (queue.size === 0 || onFull === "throw") throw full(maxKeys);
    else {
      slots.evictions++;
      dropSlot(slots, leastUsed(slots));
    }
  }
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

/** A slot whose key is fresh, if there is one among the first; where many bounds are outdated, a few. */
function freshSlot(queue: ExpiryQueue, now: number): number | undefined {
  for (let step = 0; step < STEPS && dueAt(queue) <= now; step++) {
    const slot = firstSlot(queue);
    if (freshAtOf(queue, slot) <= now) return slot;
    refreshFirst(queue);
  }
  return undefined;
}

/** The slot of a key with the least use; where many levels are outdated, of the keys looked at. */
function leastUsed(slots: Slots): number {
  const { use } = slots;
  const { levels } = use;
  // Where calls have lowered a key's level, nobody would look at the lowest one.
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

/** A slot for a new key. */
function freeSlot(slots: Slots, now: number): number {
  makeRoom(slots, () => 1, now);
  const { freed, queue, maxKeys, capacity } = slots;
  const free = freed.pop() ?? queue.size;
  if (free === capacity) {
    slots.capacity = Math.min(maxKeys, Math.ceil(capacity * 1.5));
    growQueue(queue, slots.capacity);
    growLevels(slots.use, slots.capacity);
  }
  return free;
}

function full(maxKeys: number): StoreFullError {
  return new StoreFullError(
    errorMessage("keep a new key", "memoryStore must hold fewer than maxKeys keys in use", maxKeys),
  );
}
