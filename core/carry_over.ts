/*
 * How a key takes over its use under older options, whose states no limiter with the new ones can
 * read: those of another algorithm, rate or period. Each part of an `all` takes over from the part in
 * its place. The use is copied, and counts from then on. What lies under the older options stays there
 * until it ends by itself, because processes with the older options may still count by it.
 */

import type { Algorithm } from "./algorithm.ts";
import { fieldsOf } from "./algorithms/fields_of.ts";
import { partsOf } from "./algorithms/parts_of.ts";
import { holdsPermits } from "./algorithms/holds_permits.ts";
import { splitReducer } from "./algorithms/split_reducer.ts";
import { keptFor } from "./kept_for.ts";
import type { FamilySpec, ReplaceMode } from "./store.ts";

/**
 * Whether one algorithm can take over from another part by part: neither is an `all`, or their
 * parts correspond.
 */
export function haveLikeParts(one: Algorithm, other: Algorithm): boolean {
  const parts = partsOf(one);
  const others = partsOf(other);
  if (parts === undefined || others === undefined) return parts === others;
  return parts.length === others.length &&
    parts.every((part, index) => haveLikeParts(part, others[index]!));
}

/**
 * The family, with keys that its store keeps for at least as long as use under the older options can
 * last. Otherwise a key that is soon fresh again would take the same use over once more.
 */
export function takingOverOnce(spec: FamilySpec): FamilySpec {
  const { algorithm, older } = spec;
  if (older.length === 0 || holdsPermits(algorithm)) return spec;
  const longest = Math.max(...older.map(({ algorithm }) => longestUse(algorithm)));
  const internals = Object.freeze({
    ...algorithm.internals,
    // A short path for these would keep a key only until it is fresh.
    arrival: undefined,
    formula: undefined,
    keptFor: (state: unknown, now: number, resetAfter: number) =>
      Math.max(longest, keptFor(algorithm, state, now, { resetAfter })),
  });
  return { ...spec, algorithm: Object.freeze({ ...fieldsOf(algorithm), internals }) };
}

/** The longest that a key can hold use. */
export function longestUse(algorithm: Algorithm): number {
  const { take, decide } = splitReducer(algorithm);
  const full = take(algorithm.initial, 0, algorithm.capacity);
  const { resetAfter } = decide(algorithm.initial, full, 0, algorithm.capacity);
  return Math.max(resetAfter, ...algorithm.policies.map(({ period }) => 2 * period));
}

/**
 * The state of a key that holds none: a copy of its use under the first older options under which it
 * has any; `initial` without such use. Algorithms with permits neither take use over nor pass it on.
 *
 * @param heldUnder Finds the key's state under the older options with an index; `undefined` if it
 * has none there.
 */
export function takeOver(
  { algorithm, older }: FamilySpec,
  heldUnder: (index: number) => unknown,
  now: number,
): unknown {
  for (let index = 0; index < older.length; index++) {
    const held = heldUnder(index);
    if (held === undefined) continue;
    const { algorithm: old, mode } = older[index]!;
    // Permits stay with the options under which their holders renew and release them.
    if (holdsPermits(old) || holdsPermits(algorithm)) continue;
    if (keptFor(old, held, now, splitReducer(old).decide(held, held, now, 0)) === 0) continue;
    const state = carryOver(old, held, algorithm, mode, now);
    if (state !== algorithm.initial) return state;
  }
  return algorithm.initial;
}

/**
 * The state under the new options with as much use, and as much debt, as a state under older
 * options.
 *
 * If only one of the two algorithms is an `all`, the use of the whole is carried over.
 */
export function carryOver(
  older: Algorithm,
  old: unknown,
  algorithm: Algorithm,
  mode: ReplaceMode,
  now: number,
): unknown {
  const { internals, initial, capacity } = algorithm;
  const from = older.internals?.wraps;
  const to = internals?.wraps;
  if (from !== undefined && !(to !== undefined && to.layer > from.layer)) {
    const inner = from.innerOf(old);
    if (to?.layer !== from.layer) return carryOver(from.inner, inner, algorithm, mode, now);
    return to.carry(carryOver(from.inner, inner, to.inner, mode, now), old, from, now);
  }
  if (to !== undefined) return carryOver(older, old, to.inner, mode, now);
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

/** used * capacity / oldCapacity, rounded up. The product may exceed what floats hold exactly. */
function sameShare(used: number, oldCapacity: number, capacity: number): number {
  const old = BigInt(oldCapacity);
  return Number((BigInt(used) * BigInt(capacity) + old - 1n) / old);
}
