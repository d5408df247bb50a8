/*
 * The answers that a store should give, computed by bare reducers. Stores may forget a fresh key at
 * any time, so this model tracks every state that a correct store could hold.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import type { Decision } from "../../../core/decision.ts";
import type { Operation } from "../../../core/store.ts";
import { sameDecision } from "../laws/same_decision.ts";
import { inWords, type Row, table } from "../table.ts";

/** A call as the reference sees it. */
export interface ReferenceCall {
  /** The name under which the store keeps the key. */
  readonly name: string;
  /** The algorithm of its limiter. */
  readonly algorithm: Algorithm;
  /** `"consume"`, `"peek"`, `"refund"` or `"charge"`. */
  readonly verb: string;
  /** Units, at least 0. */
  readonly units: number;
}

/** The states and answers that a store should have, key by key. */
export interface ReferenceStore {
  /**
   * Records what a store answered to calls that it ran together.
   *
   * @throws {Error} If that was wrong, with a table of all calls so far.
   */
  expect(calls: readonly ReferenceCall[], now: number, decisions: readonly Decision[]): void;
  /** Records that a key was deleted. */
  delete(name: string): void;
}

/** An operation as the reference sees it. */
export function referenceCall({ bound, key, argument }: Operation): ReferenceCall {
  const { family, verb } = bound;
  const { algorithm } = family.spec;
  return { name: family.nameOf(key), algorithm, verb: verb.name, units: argument as number };
}

/**
 * A map of bare reducers, to compare a store with.
 *
 * A store may drop a key once it is fresh, but need not; a caller notices only when the clock steps
 * back afterwards. So the reference keeps every state that the store may hold, and drops those that
 * an answer rules out.
 *
 * @example
 * ```ts
 * import { gcra, memoryStore } from "tidegate";
 * import { operationOn, referenceCall, referenceStore, testedKey } from "tidegate/testing";
 * import type { Decision } from "tidegate";
 *
 * const store = memoryStore();
 * const reference = referenceStore();
 * const tested = testedKey(store, "test", { algorithm: gcra({ limit: 10, period: "1s", burst: 10 }) }, "key");
 * for (const now of [0, 50, 100]) {
 *   const operations = [operationOn(tested, 4)];
 *   const decisions = store.run(operations, now) as Decision[];
 *   reference.expect(operations.map(referenceCall), now, decisions);
 * }
 * ```
 */
export function referenceStore(): ReferenceStore {
  const held = new Map<string, readonly unknown[]>();
  const rows: Row[] = [];
  let latest = 0;

  /** The states that a store may hold under a name. */
  function statesOf(name: string, algorithm: Algorithm): readonly unknown[] {
    const { initial, step } = algorithm;
    const states = held.get(name) ?? [initial];
    const droppable = states.some((state) =>
      state !== initial && step(state, latest, 0)[0].resetAfter === 0
    );
    return droppable && !states.includes(initial) ? [...states, initial] : states;
  }
  return {
    expect(calls, now, decisions) {
      latest = Math.max(latest, now);
      const charged = decisions.every((decision) => decision.allowed);
      calls.forEach((call, i) => {
        const { name, algorithm, verb, units } = call;
        const decision = decisions[i];
        const answers = statesOf(name, algorithm).map((state) => {
          const [alone, next] = reduce(call, state, now);
          const spared = !charged && alone.allowed;
          const answer = spared ? algorithm.step(state, now, 0)[0] : alone;
          return { answer, state: charged ? next : state };
        });
        const fitting = answers.filter(({ answer }) =>
          decision !== undefined && sameDecision(decision, answer)
        );
        const row = { now, cost: units, decision, key: `${verb} ${name}` };
        if (fitting.length === 0) {
          const expected = answers.map(({ answer }) => inWords(answer)).join(" or ");
          throw new Error(
            `A store gives another answer\n${table([...rows, { ...row, expected }])}`,
          );
        }
        rows.push(row);
        held.set(name, distinct(algorithm, fitting.map(({ state }) => state)));
      });
    },
    delete(name) {
      held.delete(name);
      rows.push({ now: undefined, cost: 0, key: `${name} (deleted)` });
    },
  };
}

/** The result of a call by the bare reducers. */
function reduce(
  { algorithm, verb, units }: ReferenceCall,
  state: unknown,
  now: number,
): readonly [Decision, unknown] {
  switch (verb) {
    case "peek":
      return [algorithm.step(state, now, units)[0], state];
    case "refund":
      return algorithm.step(state, now, -units);
    case "charge":
      return algorithm.charge(state, now, units);
    default:
      return algorithm.step(state, now, units);
  }
}

function distinct(algorithm: Algorithm, states: readonly unknown[]): readonly unknown[] {
  if (states.length < 2) return states;
  return [...new Map(states.map((state) => [algorithm.codec.encode(state), state])).values()];
}
