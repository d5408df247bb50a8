/*
 * How a changed limit takes over the use of a key under older options. Each part of an `all` takes
 * over from the part in its place. If only the limit of a log, a window, a counter or a lockout has
 * changed, use keeps its instants: it ends when it would have ended before the change.
 */

import type { Algorithm, UnitsAt } from "./algorithm.ts";
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

/** A state that a key takes over, and the older options that it comes from. */
export interface TakenOver {
  /** The state under the new options. */
  readonly state: unknown;
  /** The index of the older options. */
  readonly index: number;
}

/**
 * The state that a key without a state takes over from older options: from the first older options
 * under which the key holds use. Algorithms with permits neither take use over nor pass it on.
 *
 * @param heldUnder Finds the key's state under the older options with an index; `undefined` if it
 * has none there.
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
    // Permits stay with the options under which their holders renew and release them.
    if (holdsPermits(old) || holdsPermits(algorithm)) continue;
    if (keptFor(old, held, now, splitReducer(old).decide(held, held, now, 0)) === 0) continue;
    const state = carryOver(old, held, algorithm, mode, now);
    if (state !== algorithm.initial) return { state, index };
  }
  return undefined;
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
  const uses = keepInstants(older, algorithm) ? older.internals!.uses!(old, now) : NO_USES;
  const isLocked = uses.some(({ locks }) => locks);
  const used = isLocked ? capacity : Math.min(carried(older.capacity - remaining), capacity);
  const { charge } = splitReducer(algorithm);
  let state = initial;
  for (const { at, units } of divide(uses, used + carried(debt), now, carried)) {
    state = charge(state, at, units);
  }
  return state;
}

const NO_USES: readonly UnitsAt[] = [];

/**
 * Whether use ends at the same instants under both algorithms, because they differ only in their
 * limits.
 */
function keepInstants(older: Algorithm, algorithm: Algorithm): boolean {
  const besideLimit = ({ id }: Algorithm) => id.split("/").toSpliced(1, 1).join("/");
  return older.internals?.uses !== undefined && besideLimit(older) === besideLimit(algorithm);
}

/**
 * Spreads units over the instants of earlier use, starting with the newest, because the oldest use
 * ends first.
 */
function divide(
  uses: readonly UnitsAt[],
  total: number,
  now: number,
  carried: (units: number) => number,
): readonly UnitsAt[] {
  const divided: { at: number; units: number }[] = [];
  let seen = 0;
  let taken = 0;
  let given = 0;
  for (const { at, units, part = 1 } of uses.toReversed()) {
    seen += units;
    // Rounding of the quotient must not lose a unit.
    const room = Math.floor((total - given) / part + 1e-9);
    const share = Math.max(0, Math.min(carried(seen) - taken, room));
    if (share > 0) divided.push({ at, units: share });
    taken += share;
    given += Math.ceil(share * part - 1e-9);
  }
  // Units may remain because of a longer lock, or because of rounding up.
  if (divided.length === 0) return [{ at: now, units: total }];
  divided[0]!.units += Math.max(0, total - given);
  return divided.reverse();
}

/** used * capacity / oldCapacity, rounded up. The product may exceed what floats hold exactly. */
function sameShare(used: number, oldCapacity: number, capacity: number): number {
  const old = BigInt(oldCapacity);
  return Number((BigInt(used) * BigInt(capacity) + old - 1n) / old);
}
