/*
 * Several operations on the memory store at one instant, all or none. Everything is decided, and
 * whatever may throw is done, before anything is written.
 */

import { freeIn, takeInPlace } from "../../core/arithmetic/whole_arrival_time.ts";
import type { Decision } from "../../core/decision.ts";
import type { Operation } from "../../core/store.ts";
import { transact } from "../../core/transact.ts";
import { keyBytes } from "./key_bytes.ts";
import { type Addition, makeRoom, requireFit, sweep } from "./make_room.ts";
import {
  dropOlder,
  freshAfter,
  keepAfter,
  type MemoryBoundVerb,
  slotOf,
  stateWithoutSlot,
} from "./memory_family.ts";
import { bytesOf, type Slots, stateIn } from "./slots.ts";

type MemoryOperation = Operation & { readonly bound: MemoryBoundVerb<unknown, unknown> };

/** A state that an operation leaves. */
interface Write {
  readonly operation: MemoryOperation;
  readonly state: unknown;
  readonly freshAt: number;
}

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
  const found: number[] = [];
  for (let index = 0; index < operations.length; index++) {
    const { bound: { rate, keys }, key, argument } = operations[index]!;
    const cost = argument as number;
    if (rate === undefined || cost >>> 0 !== cost || cost === 0) return undefined;
    const slot = keys.own.table.slots.get(key);
    if (slot === undefined || !freeIn(rate, cells[2 * slot]!, now, cost)) return undefined;
    found.push(slot);
  }
  const decisions: Decision[] = [];
  for (let index = 0; index < operations.length; index++) {
    const { bound: { rate }, argument } = operations[index]!;
    decisions.push(takeInPlace(rate!, cells, 2 * found[index]!, now, argument as number));
  }
  return decisions;
}

function runAny(slots: Slots, operations: readonly MemoryOperation[], now: number) {
  const held: unknown[] = [];
  const isNew: boolean[] = [];
  const states: unknown[] = [];
  for (let index = 0; index < operations.length; index++) {
    const { bound: { keys }, key } = operations[index]!;
    const slot = slotOf(slots, keys.own, key);
    isNew.push(slot === undefined);
    held.push(slot === undefined ? keys.own.algorithm.initial : stateIn(slots, slot));
    states.push(slot === undefined ? stateWithoutSlot(slots, keys, key, now) : held[index]);
  }
  const { answers, nexts } = transact(operations, states, now);
  const writes: Write[] = [];
  let mayGrow = false;
  for (let index = 0; index < operations.length; index++) {
    const operation = operations[index]!;
    const { bound: { verb, keys } } = operation;
    const state = nexts[index];
    if (state === held[index] || verb.kind === "look") continue;
    const freshAt = freshAfter(keys.own, state, verb.decisionOf(answers[index]), now);
    writes.push({ operation, state, freshAt });
    if (isNew[index] || bytesOf(keys.own.table, state) > bytesOf(keys.own.table, held[index])) {
      mayGrow = true;
    }
  }
  if (mayGrow) requireRoom(slots, writes, now);
  for (const { operation: { bound: { keys }, key }, state, freshAt } of writes) {
    const { own } = keys;
    // An earlier write may have dropped the key.
    keepAfter(slots, own, key, slotOf(slots, own, key), state, freshAt, now);
    dropOlder(slots, keys, key);
  }
  return answers;
}

/** Throws, before anything is written, if a key does not fit, or if keys may not go for others. */
function requireRoom(slots: Slots, writes: readonly Write[], now: number): void {
  function added(): Addition {
    let [keys, bytes] = [0, 0];
    for (const { operation: { bound: { keys: { own } }, key }, state } of writes) {
      if (state === own.algorithm.initial) continue;
      const slot = slotOf(slots, own, key);
      if (slot === undefined) keys++;
      const size = requireFit(slots, keyBytes(key) + bytesOf(own.table, state));
      bytes += slot === undefined ? size : size - slots.sizes[slot]!;
    }
    return { keys, bytes };
  }
  if (slots.onFull === "throw") makeRoom(slots, added, now);
  else added();
}
