/*
 * Several operations on the memory store at one instant, all or none. Everything is decided, and
 * whatever may throw is done, before anything is written.
 */

import { freeIn, takeInPlace } from "../../core/arithmetic/whole_arrival_time.ts";
import type { Decision } from "../../core/decision.ts";
import type { Operation } from "../../core/store.ts";
import { transact } from "../../core/transact.ts";
import { keyBytes } from "./key_bytes.ts";
import { type Addition, keepState, makeRoom, requireFit, sweep } from "./make_room.ts";
import { freshAfter, type MemoryBoundVerb, slotOf, stateWithoutSlot } from "./memory_family.ts";
import {
  bytesOf,
  dropSlot,
  isNumberAfterNumber,
  putInstant,
  type Slots,
  stateIn,
} from "./slots.ts";

type MemoryOperation = Operation & { readonly bound: MemoryBoundVerb<unknown, unknown> };

/**
 * Runs operations, all or nothing, and returns their answers in order.
 *
 * @param now An instant that the caller has checked.
 */
export function runTogether(
  slots: Slots,
  operations: readonly Operation[],
  now: number,
): readonly unknown[] {
  const own = operations as readonly MemoryOperation[];
  const answers = takeInCells(slots, own, now) ?? runAny(slots, own, now);
  if (--slots.rest < 0) sweep(slots, now);
  return answers;
}

/**
 * Takes units of known keys whose states are arrival times, by the code of single calls; `undefined` if
 * an operation does something else, or is refused.
 */
function takeInCells(
  { cells }: Slots,
  operations: readonly MemoryOperation[],
  now: number,
): readonly Decision[] | undefined {
  // Before the first look-up, because a batch may have other algorithms as well.
  for (let index = 0; index < operations.length; index++) {
    const { bound: { rate }, argument } = operations[index]!;
    const cost = argument as number;
    if (rate === undefined || cost >>> 0 !== cost || cost === 0) return undefined;
  }
  const found = new Array<number>(operations.length);
  for (let index = 0; index < operations.length; index++) {
    const { bound: { rate, keys }, key, argument } = operations[index]!;
    const slot = keys.own.table.slots.get(key);
    if (slot === undefined || !freeIn(rate!, cells[2 * slot]!, now, argument as number)) {
      return undefined;
    }
    found[index] = slot;
  }
  const decisions = new Array<Decision>(operations.length);
  for (let index = 0; index < operations.length; index++) {
    const { bound: { rate }, argument } = operations[index]!;
    decisions[index] = takeInPlace(rate!, cells, 2 * found[index]!, now, argument as number);
  }
  return decisions;
}

function runAny(slots: Slots, operations: readonly MemoryOperation[], now: number) {
  const found: (number | undefined)[] = [];
  const states: unknown[] = [];
  for (let index = 0; index < operations.length; index++) {
    const { bound: { keys }, key } = operations[index]!;
    const slot = keys.own.table.slots.get(key) ?? slotOf(slots, keys.own, key);
    found.push(slot);
    states.push(
      slot === undefined ? stateWithoutSlot(slots, keys, key, now) : stateIn(slots, slot),
    );
  }
  const { answers, nexts } = transact(operations, states, now);
  /** When each key is fresh; `NaN` where nothing is to be written. */
  const instants: number[] = [];
  let mayGrow = false;
  for (let index = 0; index < operations.length; index++) {
    const { bound: { verb, keys: { own } } } = operations[index]!;
    const next = nexts[index];
    const isNew = found[index] === undefined;
    const held = isNew ? own.algorithm.initial : states[index];
    const writes = next !== held && verb.kind !== "look";
    instants.push(writes ? freshAfter(own, next, verb.decisionOf(answers[index]), now) : NaN);
    if (writes && (isNew || bytesOf(own.table, next) > bytesOf(own.table, held))) mayGrow = true;
  }
  if (mayGrow) requireRoom(slots, operations, nexts, instants, now);
  for (let index = 0; index < operations.length; index++) {
    const freshAt = instants[index]!;
    if (freshAt !== freshAt) continue;
    const { bound: { keys }, key } = operations[index]!;
    const { own } = keys;
    const slot = found[index];
    // An earlier write may have dropped the key, or have given its slot to another one.
    const isHeld = slot !== undefined && slots.keys[slot] === key &&
      slots.owners[slot] === own.table;
    const place = isHeld ? slot : slotOf(slots, own, key);
    const next = nexts[index];
    if (next === own.algorithm.initial) {
      if (place !== undefined) dropSlot(slots, place);
    } else if (isHeld && isNumberAfterNumber(slots, slot, next)) {
      slots.cells[2 * slot] = next;
      putInstant(slots, slot, freshAt);
    } else keepState(slots, own.table, key, place, next, freshAt, now);
  }
  return answers;
}

/** Throws, before anything is written, if a key does not fit, or if keys may not go for others. */
function requireRoom(
  slots: Slots,
  operations: readonly MemoryOperation[],
  nexts: readonly unknown[],
  instants: readonly number[],
  now: number,
): void {
  function added(): Addition {
    let [keys, bytes] = [0, 0];
    for (let index = 0; index < operations.length; index++) {
      const { bound: { keys: { own } }, key } = operations[index]!;
      const next = nexts[index];
      if (next === own.algorithm.initial || Number.isNaN(instants[index])) continue;
      const slot = slotOf(slots, own, key);
      if (slot === undefined) keys++;
      const size = requireFit(slots, keyBytes(key) + bytesOf(own.table, next));
      bytes += slot === undefined ? size : size - slots.sizes[slot]!;
    }
    return { keys, bytes };
  }
  if (slots.onFull === "throw") makeRoom(slots, added, now);
  else added();
}
