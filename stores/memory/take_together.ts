/*
 * Takes units of several known keys: nearly all batches do, and a batch of two then costs little more
 * than two calls. Arrival times are decided in their cells, other states by their algorithms.
 *
 * Nothing is written before every operation has been decided, and then nothing can fail: a state that
 * has grown, a key that is new or one that is to be forgotten are left to `runTogether`.
 */

import { freshInstant, leavesUsedUp } from "../../core/arithmetic/fresh_instant.ts";
import { freeIn, lookAt, takeInPlace } from "../../core/arithmetic/whole_arrival_time.ts";
import type { Decision } from "../../core/decision.ts";
import type { Operation } from "../../core/store.ts";
import { numberIn, WIDTH } from "./expiry_queue.ts";
import { writeCell } from "./keep_state.ts";
import type { MemoryBoundVerb } from "./memory_family.ts";
import { refreshLevel, type Slots, stateIn, sweep } from "./slots.ts";

type UnitsOperation = Operation & {
  readonly bound: MemoryBoundVerb<number, Decision>;
  readonly argument: number;
};

/**
 * Takes the units of all operations or of none; the decisions, in order. `undefined` if an operation
 * does something else, or its key is new: `runTogether` then decides.
 *
 * @param now An instant that the caller has checked.
 */
export type TakeTogether = (
  operations: readonly Operation[],
  now: number,
) => readonly Decision[] | undefined;

/** The decision on a state that does not lie in a cell as an arrival time, and what it leaves. */
interface Taken {
  readonly state: unknown;
  readonly next: unknown;
  readonly decision: Decision;
  readonly freshAt: number;
}

/** Makes what takes units together. */
export function togetherIn(slots: Slots): TakeTogether {
  const { queue, use, objects } = slots;

  /** Decides by an algorithm; `undefined` if more than the state itself would have to change. */
  function take({ bound, argument }: UnitsOperation, slot: number, now: number): Taken | undefined {
    const { plain, keys: { algorithm, table } } = bound;
    const state = stateIn(slots, slot);
    const next = plain!.next(state, now, argument);
    const decision = plain!.answer(state, next, now, argument);
    if (next === state) return { state, next, decision, freshAt: 0 };
    if (next === algorithm.initial || typeof next !== typeof state) return undefined;
    const { stateBytes } = table;
    if (typeof stateBytes === "function" && stateBytes(next) !== stateBytes(state)) {
      return undefined;
    }
    return { state, next, decision, freshAt: freshInstant(now, decision, algorithm) };
  }

  /** Writes what an operation leaves. */
  function write(
    { bound: { keys, rate }, argument }: UnitsOperation,
    slot: number,
    now: number,
    taken: Taken | undefined,
  ): Decision {
    if (taken === undefined) {
      const decision = takeInPlace(rate!, queue.cells, WIDTH * slot, now, argument);
      if (leavesUsedUp(decision.remaining, use.levels[slot]!)) refreshLevel(slots, slot);
      return decision;
    }
    const { state, next, decision, freshAt } = taken;
    if (next === state) return decision;
    const { numeric } = keys.table;
    if (!numeric) objects[slot] = next;
    writeCell(slots, slot, numeric ? next as number : 0, freshAt);
    if (leavesUsedUp(decision.remaining, use.levels[slot]!)) refreshLevel(slots, slot);
    return decision;
  }

  /** The decision where nothing is taken: operations that were admitted are answered by a look. */
  function look(
    { bound: { rate, plain }, argument }: UnitsOperation,
    slot: number,
    now: number,
    taken: Taken | undefined,
  ): Decision {
    if (taken !== undefined) {
      return taken.decision.allowed ? plain!.uncharged(taken.state, now, argument) : taken.decision;
    }
    const state = numberIn(queue, slot);
    return lookAt(rate!, state, now, freeIn(rate!, state, now, argument) ? 0 : argument);
  }

  /** The slots of the keys; `undefined` if this is no batch for them. */
  function findAll(operations: readonly UnitsOperation[]): readonly number[] | undefined {
    const found: number[] = [];
    for (let index = 0; index < operations.length; index++) {
      const { bound: { plain, keys }, key, argument } = operations[index]!;
      if (plain === undefined || argument >>> 0 !== argument || argument === 0) return undefined;
      const slot = keys.table.slots.get(key);
      if (slot === undefined) return undefined;
      found.push(slot);
    }
    return found;
  }

  return function takeTogether(operations, now) {
    const own = operations as readonly UnitsOperation[];
    const found = findAll(own);
    if (found === undefined) return undefined;
    /** By the places of their operations; there are none if all states are arrival times. */
    let taken: (Taken | undefined)[] | undefined;
    let isRefused = false;
    for (let index = 0; index < own.length; index++) {
      const operation = own[index]!;
      const slot = found[index]!;
      const { bound: { rate }, argument } = operation;
      if (rate === undefined) {
        const one = take(operation, slot, now);
        if (one === undefined) return undefined;
        if (!one.decision.allowed) isRefused = true;
        (taken ??= [])[index] = one;
      } else if (!freeIn(rate, numberIn(queue, slot), now, argument)) isRefused = true;
    }
    const decisions: Decision[] = [];
    for (let index = 0; index < own.length; index++) {
      const one = taken?.[index];
      const slot = found[index]!;
      decisions.push(
        isRefused ? look(own[index]!, slot, now, one) : write(own[index]!, slot, now, one),
      );
    }
    if (!isRefused && now >= slots.sweepAt) sweep(slots, now);
    return decisions;
  };
}
