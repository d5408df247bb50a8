/*
 * Several operations at once, as a pure function: step each state, and apply all of them or
 * none. A store loads the states, calls `transact`, and commits the states that changed; after a lost
 * race it does all three again.
 */

import { splitReducer } from "./algorithms/split_reducer.ts";
import { checkCost, checkNow } from "./options/checks.ts";
import type { Operation } from "./store.ts";

/** The outcome of several operations. */
export interface Transaction {
  /** Each operation's answer, in order. */
  readonly answers: readonly unknown[];
  /** Each key's state afterwards, in order; the same state (`===`) if nothing is to be written. */
  readonly nexts: readonly unknown[];
}

/**
 * Steps the states of several operations, and applies all of them or none.
 *
 * When an operation is refused, the states stay as they are. Operations that were admitted are then
 * answered by a look, as `all` answers for its parts.
 *
 * Linear in the operations.
 *
 * @param operations At least one; no key of a family twice.
 * @param states The state of each operation's key, in order: `initial` where a key holds none.
 * @param now The instant: milliseconds since the Unix epoch, 0 to 2^42.
 * @throws {RangeError} If `now` or the units of an operation are out of range.
 *
 * @example
 * ```ts
 * import { gcra, memoryStore } from "tidegate";
 * import { consume, transact } from "tidegate/toolkit";
 * import assert from "node:assert/strict";
 *
 * const algorithm = gcra({ limit: 2, period: "1m", burst: 2 });
 * const bound = memoryStore().open({ prefix: "api", algorithm, older: [] }).bind(consume);
 * const operations = ["a", "b"].map((key) => ({ bound, key, argument: 2 }));
 * const { initial } = algorithm;
 *
 * const { nexts } = transact(operations, [initial, initial], 0);
 * assert.deepEqual(nexts, [60_000, 60_000]);
 * assert.deepEqual(transact(operations, [initial, 60_000], 0).nexts, [initial, 60_000]);
 * ```
 */
export function transact(
  operations: readonly Operation[],
  states: readonly unknown[],
  now: number,
): Transaction {
  const instant = checkNow(now);
  checkUnits(operations);
  const nexts: unknown[] = [];
  const answers: unknown[] = [];
  let refusals = 0;
  for (let index = 0; index < operations.length; index++) {
    const { bound: { steps, verb }, argument } = operations[index]!;
    const state = states[index];
    const next = steps.next(state, instant, argument);
    const answer = steps.answer(state, next, instant, argument);
    if (!verb.decisionOf(answer).allowed) refusals++;
    nexts.push(next);
    answers.push(answer);
  }
  if (refusals === 0) return { answers, nexts };
  for (let index = 0; index < operations.length; index++) {
    const { verb, family: { spec } } = operations[index]!.bound;
    if (!verb.decisionOf(answers[index]).allowed) continue;
    const { decide } = splitReducer(spec.algorithm);
    answers[index] = verb.answerOf(decide(states[index], states[index], instant, 0));
  }
  return { answers, nexts: states };
}

/** Throws a `RangeError` if the units of an operation are out of range. */
export function checkUnits(operations: readonly Operation[]): void {
  for (const { bound: { verb }, argument } of operations) {
    checkCost(verb.name, verb.units(argument), 0);
  }
}
