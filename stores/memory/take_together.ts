/*
 * Takes units of several keys in their cells: nearly all batches take units of known keys whose states
 * are arrival times, and a batch of two then costs little more than two calls.
 */

import { leavesUsedUp } from "../../core/arithmetic/fresh_instant.ts";
import { freeIn, lookAt, takeInPlace } from "../../core/arithmetic/whole_arrival_time.ts";
import type { ArrivalRate } from "../../core/algorithm.ts";
import type { Decision } from "../../core/decision.ts";
import type { Operation } from "../../core/store.ts";
import { numberIn, WIDTH } from "./expiry_queue.ts";
import type { MemoryBoundVerb } from "./memory_family.ts";
import { refreshLevel, type Slots, sweep } from "./slots.ts";

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

/** Makes what takes units together. */
export function togetherIn(slots: Slots): TakeTogether {
  const { queue } = slots;
  /** The slots of the batch at hand: no function of others runs while it is decided. */
  const found: number[] = [];

  /** Finds the slots: how many operations are refused; `undefined` if this is no batch for cells. */
  function findAll(operations: readonly UnitsOperation[], now: number): number | undefined {
    let refusals = 0;
    for (let index = 0; index < operations.length; index++) {
      const { bound: { rate, keys }, key, argument } = operations[index]!;
      if (rate === undefined || argument >>> 0 !== argument || argument === 0) return undefined;
      const slot = keys.table.slots.get(key);
      if (slot === undefined) return undefined;
      found[index] = slot;
      if (!freeIn(rate, numberIn(queue, slot), now, argument)) refusals++;
    }
    return refusals;
  }

  /** Each decision of a batch that is refused: the others are answered by a look, as in `transact`. */
  function lookAtAll(operations: readonly UnitsOperation[], now: number): readonly Decision[] {
    return operations.map(({ bound, argument }, index) => {
      const rate = bound.rate as ArrivalRate;
      const state = numberIn(queue, found[index]!);
      return lookAt(rate, state, now, freeIn(rate, state, now, argument) ? 0 : argument);
    });
  }

  return function takeTogether(operations, now) {
    const own = operations as readonly UnitsOperation[];
    const refusals = findAll(own, now);
    if (refusals === undefined) return undefined;
    if (refusals > 0) return lookAtAll(own, now);
    const decisions: Decision[] = [];
    for (let index = 0; index < own.length; index++) {
      const { bound, argument } = own[index]!;
      const cell = WIDTH * found[index]!;
      const decision = takeInPlace(bound.rate!, queue.cells, cell, now, argument);
      const level = slots.use.levels[found[index]!]!;
      if (leavesUsedUp(decision.remaining, level)) refreshLevel(slots, found[index]!);
      decisions.push(decision);
    }
    if (now >= slots.sweepAt) sweep(slots, now);
    return decisions;
  };
}
