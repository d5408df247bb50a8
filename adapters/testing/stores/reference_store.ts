/*
 * What a store should answer, computed by bare reducers. Stores may forget a fresh key at any time,
 * so it tracks every state that a correct store could hold.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import type { Decision } from "../../../core/decision.ts";
import type { Operation } from "../../../core/store.ts";
import { sameDecision } from "../laws/same_decision.ts";
import { inWords, type Row, table } from "../table.ts";

/** What a store should hold and answer, key by key. */
export interface ReferenceStore {
  /**
   * Records what a store answered to operations.
   *
   * @throws {Error} If that was wrong, with a table of all calls so far.
   */
  expect(operations: readonly Operation[], now: number, decisions: readonly Decision[]): void;
  /** Records that a key was deleted. */
  delete(key: string): void;
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
 * import { referenceStore } from "tidegate/testing";
 *
 * const store = memoryStore();
 * const reference = referenceStore();
 * const algorithm = gcra({ limit: 10, period: "1s" });
 * for (const now of [0, 50, 100]) {
 *   const operations = [{ key: "key", algorithm, cost: 4, dry: false }];
 *   reference.expect(operations, now, store.run(operations, now));
 * }
 * ```
 */
export function referenceStore(): ReferenceStore {
  const held = new Map<string, readonly unknown[]>();
  const rows: Row[] = [];
  let latest = 0;

  /** The states that a store may hold under a key. */
  function statesOf(key: string, algorithm: Algorithm): readonly unknown[] {
    const { initial, step } = algorithm;
    const states = held.get(key) ?? [initial];
    const droppable = states.some((state) =>
      state !== initial && step(state, latest, 0)[0].resetAfter === 0
    );
    return droppable && !states.includes(initial) ? [...states, initial] : states;
  }
  return {
    expect(operations, now, decisions) {
      latest = Math.max(latest, now);
      const charged = decisions.every((decision) => decision.allowed);
      operations.forEach(({ key, algorithm, cost, dry }, i) => {
        const decision = decisions[i];
        const answers = statesOf(key, algorithm).map((state) => {
          const [alone, next] = algorithm.step(state, now, cost);
          const spared = !charged && alone.allowed && cost !== 0;
          const answer = spared ? algorithm.step(state, now, 0)[0] : alone;
          return { answer, state: charged && !dry ? next : state };
        });
        const fitting = answers.filter(({ answer }) =>
          decision !== undefined && sameDecision(decision, answer)
        );
        const row = { now, cost, decision, key: dry ? `${key} (dry)` : key };
        if (fitting.length === 0) {
          const expected = answers.map(({ answer }) => inWords(answer)).join(" or ");
          throw new Error(`A store answers otherwise\n${table([...rows, { ...row, expected }])}`);
        }
        rows.push(row);
        held.set(key, distinct(algorithm, fitting.map(({ state }) => state)));
      });
    },
    delete(key) {
      held.delete(key);
      rows.push({ now: undefined, cost: 0, key: `${key} (deleted)` });
    },
  };
}

function distinct(algorithm: Algorithm, states: readonly unknown[]): readonly unknown[] {
  if (states.length < 2) return states;
  return [...new Map(states.map((state) => [algorithm.codec.encode(state), state])).values()];
}
