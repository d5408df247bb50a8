/*
 * Several operations on the memory store at one instant, all or none.
 *
 * Nothing is written before all operations are decided. In nearly all batches the keys are known and
 * their states stay in their slots, so no write can fail. Otherwise a write may free a slot, or give it
 * to another key. So after such a write the batch looks its keys up again.
 */

import { freshInstant, leavesUsedUp } from "../../core/arithmetic/fresh_instant.ts";
import { freeIn, takeInPlace } from "../../core/arithmetic/whole_arrival_time.ts";
import type { Decision } from "../../core/decision.ts";
import type { Operation, Steps } from "../../core/store.ts";
import { checkUnits } from "../../core/transact.ts";
import { numberIn, WIDTH } from "./expiry_queue.ts";
import { keepState, writeCell } from "./keep_state.ts";
import { absentState, findKey, type MemoryBoundVerb, type MemoryKeys } from "./memory_family.ts";
import {
  type Addition,
  heldBytes,
  makeRoom,
  refreshLevel,
  requiredBytes,
  type Slots,
  stateIn,
  sweep,
} from "./slots.ts";
import { keptFor } from "../../core/receipts/receipts_of.ts";
import { notesOf } from "./table.ts";

type MemoryOperation = Operation & { readonly bound: MemoryBoundVerb<unknown, unknown> };

/** The decision on an operation, and the state that it leaves. */
interface Taken {
  readonly slot: number | undefined;
  readonly steps: Steps<unknown, unknown>;
  readonly state: unknown;
  readonly next: unknown;
  readonly answer: unknown;
  readonly decision: Decision;
  /** The instant at which the key is fresh, if its state changes. */
  readonly freshAt: number;
  /** Whether the state keeps its place: it is unchanged, or is replaced there. */
  isInPlace: boolean;
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
  const decisions = takeInCells(slots, own, now);
  if (decisions !== undefined) return decisions;
  // Finding a key may move its state from older options, and a batch that throws must change nothing.
  checkUnits(own);
  const all: Taken[] = [];
  const answers: unknown[] = [];
  let [isRefused, isInPlace] = [false, true];
  for (let index = 0; index < own.length; index++) {
    const taken = take(slots, own[index]!, now);
    if (!taken.decision.allowed) isRefused = true;
    if (!taken.isInPlace) isInPlace = false;
    all.push(taken);
    answers.push(taken.answer);
  }
  if (isRefused) return refused(own, all, now);
  if (isInPlace) replaceAll(slots, own, all, now);
  else keepAll(slots, own, all, now);
  return answers;
}

/**
 * Takes units of known keys whose states are arrival times, by the code of single calls; `undefined` if
 * an operation does something else, or is refused.
 */
function takeInCells(
  slots: Slots,
  operations: readonly MemoryOperation[],
  now: number,
): readonly Decision[] | undefined {
  const { queue, use } = slots;
  // Check this before the first look-up, because a batch may have other algorithms as well.
  for (let index = 0; index < operations.length; index++) {
    const { bound: { rate }, argument } = operations[index]!;
    const cost = argument as number;
    if (rate === undefined || cost >>> 0 !== cost || cost === 0) return undefined;
  }
  const found = new Array<number>(operations.length);
  for (let index = 0; index < operations.length; index++) {
    const { bound: { rate, keys }, key, argument } = operations[index]!;
    const slot = keys.table.slots.get(key);
    if (slot === undefined) return undefined;
    if (!freeIn(rate!, numberIn(queue, slot), now, argument as number)) return undefined;
    found[index] = slot;
  }
  const decisions = new Array<Decision>(operations.length);
  for (let index = 0; index < operations.length; index++) {
    const { bound: { rate }, argument } = operations[index]!;
    const slot = found[index]!;
    const decision = takeInPlace(rate!, queue.cells, WIDTH * slot, now, argument as number);
    if (leavesUsedUp(decision.remaining, use.levels[slot]!)) refreshLevel(slots, slot);
    decisions[index] = decision;
  }
  if (now >= slots.sweepAt) sweep(slots, now);
  return decisions;
}

/** Decides an operation without writing anything. */
function take(slots: Slots, operation: MemoryOperation, now: number): Taken {
  const { bound: { plain, keys }, key } = operation;
  const slot = plain && keys.table.slots.get(key);
  if (slot === undefined) return takeAny(slots, operation, now);
  const { numeric } = keys.table;
  const state = numeric ? numberIn(slots.queue, slot) : slots.objects[slot];
  const taken = takeFrom(operation, plain!, slot, state, now, false);
  const { next } = taken;
  taken.isInPlace = next === state || (next !== keys.algorithm.initial &&
    (numeric ? typeof next === "number" : sizeOf(keys, next) === sizeOf(keys, state)));
  return taken;
}

/** Decides an operation on a key that may be new, or whose state may have notes. */
function takeAny(slots: Slots, operation: MemoryOperation, now: number): Taken {
  const { bound: { verb, keys, steps }, key } = operation;
  const slot = findKey(slots, keys, key, now, verb.kind !== "look");
  const state = slot === undefined ? absentState(slots, keys, key, now) : stateIn(slots, slot);
  return takeFrom(operation, steps, slot, state, now, true);
}

function takeFrom(
  { bound: { verb, keys: { algorithm, capacities } }, argument }: MemoryOperation,
  steps: Steps<unknown, unknown>,
  slot: number | undefined,
  state: unknown,
  now: number,
  mayHaveNotes: boolean,
): Taken {
  const next = steps.next(state, now, argument);
  const answer = steps.answer(state, next, now, argument);
  const decision = verb.decisionOf(answer);
  let freshAt = 0;
  if (next !== state) {
    const kept = mayHaveNotes ? keptFor(algorithm, next, now, decision) : undefined;
    freshAt = freshInstant(now, decision, capacities, kept);
  }
  return { slot, steps, state, next, answer, decision, freshAt, isInPlace: false };
}

/** The bytes of a state; 0 if all states of the table take the same. */
function sizeOf({ table: { stateBytes } }: MemoryKeys, state: unknown): number {
  return typeof stateBytes === "function" ? stateBytes(state) : 0;
}

/** The answers if an operation is refused: each admitted operation is answered by a look. */
function refused(
  operations: readonly MemoryOperation[],
  all: readonly Taken[],
  now: number,
): readonly unknown[] {
  return all.map(({ steps, state, answer, decision }, index) =>
    decision.allowed ? steps.uncharged(state, now, operations[index]!.argument) : answer
  );
}

/** Replaces states in their slots. */
function replaceAll(
  slots: Slots,
  operations: readonly MemoryOperation[],
  all: readonly Taken[],
  now: number,
): void {
  const { objects, use } = slots;
  for (let index = 0; index < all.length; index++) {
    const { slot, state, next, decision, freshAt } = all[index]!;
    if (next === state) continue;
    const { keys: { table: { numeric } }, verb } = operations[index]!.bound;
    if (!numeric) objects[slot!] = next;
    writeCell(slots, slot!, numeric ? next as number : 0, freshAt);
    if (verb.kind === "free" || leavesUsedUp(decision.remaining, use.levels[slot!]!)) {
      refreshLevel(slots, slot!);
    }
  }
  if (now >= slots.sweepAt) sweep(slots, now);
}

/** Keeps states in whatever slots their keys then have. */
function keepAll(
  slots: Slots,
  operations: readonly MemoryOperation[],
  all: readonly Taken[],
  now: number,
): void {
  requireRoom(slots, operations, all, now);
  for (let index = 0; index < all.length; index++) {
    const { slot: found, state, next, freshAt } = all[index]!;
    if (next === state) continue;
    const { bound: { keys }, key } = operations[index]!;
    const slot = holds(slots, keys, found, key) ? found : findKey(slots, keys, key, now, true);
    keepState(slots, keys.table, key, slot, next, keys.algorithm.initial, freshAt, now);
  }
}

/** Whether a slot still belongs to a key: an earlier operation may have given it to another. */
function holds(
  { keys: held, owners }: Slots,
  { table: { family } }: MemoryKeys,
  slot: number | undefined,
  key: string,
): boolean {
  if (slot === undefined || held[slot] !== key) return false;
  const own = owners[slot]!.family;
  return own === family || own === notesOf(family);
}

/** Throws, before any state is replaced, if a key does not fit, or if keys may not go for others. */
function requireRoom(
  slots: Slots,
  operations: readonly MemoryOperation[],
  all: readonly Taken[],
  now: number,
): void {
  function added(): Addition {
    let [newKeys, bytes] = [0, 0];
    for (let index = 0; index < operations.length; index++) {
      const { bound: { keys }, key } = operations[index]!;
      const { state, next } = all[index]!;
      if (next === state || next === keys.algorithm.initial) continue;
      const held = heldBytes(slots, keys.table, findKey(slots, keys, key, now, false));
      if (held === 0) newKeys++;
      bytes += requiredBytes(slots, keys.table, key, next) - held;
    }
    return { keys: newKeys, bytes };
  }
  if (slots.onFull === "throw") makeRoom(slots, added, now);
  else added();
}
