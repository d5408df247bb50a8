/*
 * Which keys the memory store drops. There is no order of keys. A hand walks the slots in turn, and
 * drops keys that have been fresh for a while: some slots after so many calls, whatever the calls do,
 * and some for each new key.
 *
 * A full store looks at the slots under the hand, and at others drawn by chance, because neighbours are
 * often alike. A fresh key goes first, else the key with the largest share of its capacity left. If all
 * of them are used up, the hand walks on, up to a bound. After a walk in vain the bound halves, because
 * in a store of used-up keys there is nothing to find; until a walk finds something.
 *
 * A store that must not evict looks at all slots before it throws. It then knows the instant before
 * which no key is fresh by itself, and looks again only after that.
 */

import { leftOf } from "../../core/arithmetic/fresh_instant.ts";
import { StoreFullError } from "../../core/errors.ts";
import { errorMessage } from "../../core/options/checks.ts";
import { keyBytes } from "./key_bytes.ts";
import {
  addSlot,
  type Bounds,
  bytesOf,
  dropSlot,
  freshAtOf,
  MOST_STEPS,
  putState,
  type Slots,
  stateIn,
  type Table,
} from "./slots.ts";

/**
 * Milliseconds for which a key that is fresh again stays while there is room. Without them, a key that
 * is called now and then would be dropped and added anew at each call.
 */
const FRESH_GRACE = 5_000;
/** Slots that the hand passes at a time. */
const STRIDE = 32;
/** Calls between two moves of the hand, unless it finds keys to drop. */
const REST = 48;
/** Slots that the hand passes for each new key: more than one, so that it overtakes new keys. */
const STEPS = 4;
/** Slots drawn by chance, at which a full store looks beside those under the hand. */
const OTHERS = 12;

/** Moves the hand, and drops keys that have been fresh for a while. */
export function sweep(slots: Slots, now: number, steps: number = STRIDE): void {
  const { cells, keys: { length } } = slots;
  let { hand } = slots;
  slots.rest = REST;
  for (let step = Math.min(steps, length); step > 0; step--) {
    if (hand >= length) hand = 0;
    if (cells[2 * hand + 1]! + FRESH_GRACE <= now) {
      dropSlot(slots, hand);
      slots.rest = 0;
    }
    hand++;
  }
  slots.hand = hand;
}

/**
 * Keeps the next state of a key, which may be new. Throws a `StoreFullError` if there is no room; then
 * nothing has changed.
 */
export function keepState(
  slots: Slots,
  table: Table,
  key: string,
  slot: number | undefined,
  state: unknown,
  freshAt: number,
  now: number,
): void {
  if (slot === undefined) {
    const size = requireFit(slots, keyBytes(key) + bytesOf(table, state));
    if (lacksRoom(slots, 1, size)) makeRoom(slots, () => ({ keys: 1, bytes: size }), now);
    else sweep(slots, now, STEPS);
    putState(slots, addSlot(slots, table, key), state, freshAt, size);
    return;
  }
  const grown = bytesOf(table, state) - bytesOf(table, stateIn(slots, slot));
  const size = slots.sizes[slot]! + grown;
  if (grown > 0) {
    requireFit(slots, size);
    if (lacksRoom(slots, 0, grown)) makeRoom(slots, () => ({ keys: 0, bytes: grown }), now, slot);
  }
  putState(slots, slot, state, freshAt, size);
}

/** An addition to the store: keys, and bytes of keys and states. */
export interface Addition {
  readonly keys: number;
  readonly bytes: number;
}

/**
 * Makes room. If keys that hold use may not go, it throws before it drops one of these.
 *
 * @param added The addition, counted anew whenever a key was dropped.
 * @param kept A slot whose key stays.
 */
export function makeRoom(slots: Slots, added: () => Addition, now: number, kept = -1): void {
  const mayEvict = slots.onFull === "evict";
  for (let { keys, bytes } = added(); lacksRoom(slots, keys, bytes); { keys, bytes } = added()) {
    const slot = mayEvict ? firstToGo(slots, now, kept) : freshSlot(slots, now, kept);
    if (slot === -1) throw full(slots);
    if (freshAtOf(slots, slot) > now) slots.evictions++;
    dropSlot(slots, slot);
  }
}

/** The slot of a fresh key, wherever it is; -1 if there is none. */
function freshSlot(slots: Slots, now: number, kept: number): number {
  if (now < slots.fullUntil) return -1;
  const { cells, keys: { length } } = slots;
  let earliest = Infinity;
  for (let step = 0; step < length; step++) {
    const slot = pass(slots);
    const freshAt = cells[2 * slot + 1]!;
    if (freshAt <= now && slot !== kept) return slot;
    if (freshAt < earliest) earliest = freshAt;
  }
  slots.fullUntil = earliest;
  return -1;
}

/** The share left of a fresh key: more than that of any key in use. */
const ALL = 2;
/** The share left of a key that is used up, rounded up; a key in debt has less. */
const USED_UP = 1 / 16 + 2 ** -11;

/** The slot of a fresh key, or of the key that has most left, of those that it looks at; -1 for none. */
function firstToGo(slots: Slots, now: number, kept: number): number {
  const { cells, keys: { length }, newest } = slots;
  const stride = Math.min(STRIDE, length);
  let found = -1;
  let mostLeft = -1;
  function look(slot: number): void {
    const freshAt = cells[2 * slot + 1]!;
    if (slot === kept || freshAt !== freshAt) return;
    const left = freshAt <= now ? ALL : leftOf(freshAt);
    if (left > mostLeft) [found, mostLeft] = [slot, left];
  }
  // The first of several with as much left goes, so each look begins by chance.
  const others = length > stride ? OTHERS : 0;
  for (let step = 0; step < others; step++) look(Math.floor(Math.random() * length));
  const from = Math.floor(Math.random() * stride);
  for (let step = 0; step < stride && mostLeft < ALL; step++) {
    look((slots.hand + (from + step) % stride) % length);
  }
  slots.hand = (slots.hand + stride) % length;
  // In a flood, the key before may be the only one with little use.
  if (mostLeft < ALL) look(newest);
  const most = Math.min(slots.mostSteps, length);
  for (let step = stride; step < most && mostLeft <= USED_UP; step++) look(pass(slots));
  slots.mostSteps = mostLeft > USED_UP ? MOST_STEPS : Math.max(STRIDE, slots.mostSteps >>> 1);
  return found;
}

/** Moves the hand by one slot. */
function pass(slots: Slots): number {
  const slot = slots.hand < slots.keys.length ? slots.hand : 0;
  slots.hand = slot + 1;
  return slot;
}

/** Whether an addition exceeds the bounds. */
export function lacksRoom(slots: Slots, keys: number, bytes: number): boolean {
  return slots.size + keys > slots.maxKeys || slots.bytes + bytes > slots.maxBytes;
}

/** Throws a `StoreFullError` if a key and its state take more than half of a store's bytes. */
export function requireFit({ maxBytes }: Bounds, bytes: number): number {
  if (bytes <= maxBytes / 2) return bytes;
  throw new StoreFullError(
    errorMessage(
      "keep a key",
      `its text and state must take at most half of maxBytes (${maxBytes})`,
      bytes,
    ),
  );
}

function full({ maxKeys, maxBytes, size, bytes }: Slots): StoreFullError {
  const [rule, value] = size < maxKeys
    ? [`memoryStore must hold less than its maxBytes of ${maxBytes}`, bytes]
    : ["memoryStore must hold fewer than maxKeys keys in use", maxKeys];
  return new StoreFullError(errorMessage("keep a new key", rule, value));
}
