/*
 * Several operations on the memory store at one instant, all or none.
 *
 * All states are loaded before any is replaced, and slots may be freed or moved to another key as soon
 * as one is: keys are looked up again once a key was added or dropped.
 */

import { freshInstant } from "../../core/arithmetic/fresh_instant.ts";
import { checkNow } from "../../core/options/checks.ts";
import type { Operation } from "../../core/store.ts";
import { checkUnits, transact, type Transaction } from "../../core/transact.ts";
import { keepState } from "./keep_state.ts";
import { absentState, findKey, type MemoryBoundVerb, type MemoryKeys } from "./memory_family.ts";
import { type Addition, heldBytes, makeRoom, requiredBytes, type Slots, stateIn } from "./slots.ts";
import { keptFor } from "../../core/receipts/receipts_of.ts";
import { notesOf } from "./table.ts";

type MemoryOperation = Operation & { readonly bound: MemoryBoundVerb<unknown, unknown> };

/** Runs operations, all or nothing; their answers, in order. */
export function runTogether(
  slots: Slots,
  operations: readonly Operation[],
  now: number,
): readonly unknown[] {
  checkNow(now);
  const own = operations as readonly MemoryOperation[];
  // Keys take over from older options as they are found, and a batch that throws changes nothing.
  if (own.some(({ bound: { keys } }) => keys.older.length > 0)) checkUnits(own);
  const found: (number | undefined)[] = [];
  const states: unknown[] = [];
  for (let index = 0; index < own.length; index++) {
    const { bound: { keys, verb }, key } = own[index]!;
    const slot = findKey(slots, keys, key, now, verb.kind !== "look");
    found.push(slot);
    states.push(
      slot === undefined ? absentState(slots, keys, key, now) : stateIn(slots, slot),
    );
  }
  const { answers, nexts } = transact(operations, states, now);
  if (nexts === states) return answers;
  const freshAts = freshInstants(own, states, { answers, nexts }, now);
  requireRoom(slots, own, states, nexts, now);
  for (let index = 0; index < own.length; index++) {
    const next = nexts[index];
    if (next === states[index]) continue;
    const { bound: { keys }, key } = own[index]!;
    const { initial } = keys.spec.algorithm;
    const slot = holds(slots, keys, found[index], key)
      ? found[index]
      : findKey(slots, keys, key, now, true);
    keepState(slots, keys.table, key, slot, next, initial, freshAts[index]!, now);
  }
  return answers;
}

/**
 * When each key that changes is fresh. Computed before any state is replaced, because the decision of
 * a custom algorithm may make it throw.
 */
function freshInstants(
  operations: readonly MemoryOperation[],
  states: readonly unknown[],
  { answers, nexts }: Transaction,
  now: number,
): readonly number[] {
  const instants: number[] = [];
  for (let index = 0; index < operations.length; index++) {
    const { bound: { keys: { spec: { algorithm } }, verb } } = operations[index]!;
    const next = nexts[index];
    const decision = verb.decisionOf(answers[index]);
    const kept = keptFor(algorithm, next, now, decision);
    instants.push(next === states[index] ? 0 : freshInstant(now, decision, algorithm, kept));
  }
  return instants;
}

/** Whether a slot still is that of a key: one before it may have taken its place. */
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
  states: readonly unknown[],
  nexts: readonly unknown[],
  now: number,
): void {
  function added(): Addition {
    let [newKeys, bytes] = [0, 0];
    for (let index = 0; index < operations.length; index++) {
      const { bound: { keys }, key } = operations[index]!;
      const next = nexts[index];
      if (next === states[index] || next === keys.spec.algorithm.initial) continue;
      const held = heldBytes(slots, keys.table, findKey(slots, keys, key, now, false));
      if (held === 0) newKeys++;
      bytes += requiredBytes(slots, keys.table, key, next) - held;
    }
    return { keys: newKeys, bytes };
  }
  if (slots.onFull === "throw") makeRoom(slots, added, now);
  else added();
}
