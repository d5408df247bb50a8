/*
 * How a changed limit takes over what a key had used under its older options. Each part of an `all`
 * takes over from the part in its place.
 */

import type { Algorithm } from "./algorithm.ts";
import { splitReducer } from "./algorithms/split_reducer.ts";
import type { FamilySpec, ReplaceMode } from "./store.ts";

/** Whether one algorithm can take over from another: neither is an `all`, or both have like parts. */
export function haveLikeParts(one: Algorithm, other: Algorithm): boolean {
  const parts = one.internals?.parts;
  const others = other.internals?.parts;
  if (parts === undefined || others === undefined) return parts === others;
  return parts.length === others.length &&
    parts.every((part, index) => haveLikeParts(part, others[index]!));
}

/** What a key takes over: the state under the new options, and which of the older ones it is from. */
export interface TakenOver {
  /** The state under the new options. */
  readonly state: unknown;
  /** The index of the older options. */
  readonly index: number;
}

/**
 * What a key that holds no state takes over from older options: from the first of them under which it
 * holds use.
 *
 * @param heldUnder The state under the older options of an index; `undefined` if there is none.
 */
export function takeOver(
  { algorithm, older }: FamilySpec,
  heldUnder: (index: number) => unknown,
  now: number,
): TakenOver | undefined {
  for (let index = 0; index < older.length; index++) {
    const held = heldUnder(index);
    if (held === undefined) continue;
    const { algorithm: old, mode } = older[index]!;
    if (splitReducer(old).decide(held, held, now, 0).resetAfter === 0) continue;
    const state = carryOver(old, held, algorithm, mode, now);
    if (state !== algorithm.initial) return { state, index };
  }
  return undefined;
}

/**
 * The state with as much use, and as much debt, as another one has under older options.
 *
 * Where only one of the two is an `all`, the use of the whole is carried over.
 */
export function carryOver(
  older: Algorithm,
  old: unknown,
  algorithm: Algorithm,
  mode: ReplaceMode,
  now: number,
): unknown {
  const { internals, initial, capacity } = algorithm;
  if (internals?.parts !== undefined && haveLikeParts(older, algorithm)) {
    const states = old as readonly unknown[];
    const olderParts = older.internals!.parts!;
    const parts = internals.parts.map((part, index) =>
      carryOver(olderParts[index]!, states[index], part, mode, now)
    );
    const isFresh = parts.every((state, index) => state === internals.parts![index]!.initial);
    return isFresh ? initial : parts;
  }
  const { remaining, debt } = splitReducer(older).decide(old, old, now, 0);
  const carried = (units: number) =>
    mode === "keep" ? units : sameShare(units, older.capacity, capacity);
  const used = Math.min(carried(older.capacity - remaining), capacity);
  return splitReducer(algorithm).charge(initial, now, used + carried(debt));
}

/** used * capacity / oldCapacity, rounded up; the product may be past what floats hold. */
function sameShare(used: number, oldCapacity: number, capacity: number): number {
  const old = BigInt(oldCapacity);
  return Number((BigInt(used) * BigInt(capacity) + old - 1n) / old);
}
