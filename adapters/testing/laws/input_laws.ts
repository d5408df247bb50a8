/*
 * The laws of invalid input and of the split reducer: paths that a schedule of valid steps does not
 * reach by itself.
 */

import { sameDecision } from "./same_decision.ts";
import type { VisitLaw } from "./visits.ts";

const NEVER_A_NUMBER = [NaN, Infinity, -Infinity, undefined, null, "1", 1n] as readonly number[];
const BAD_INSTANTS = [...NEVER_A_NUMBER, -1, -0.5, 2 ** 42 + 1, 2 ** 53];
const BAD_COSTS = [...NEVER_A_NUMBER, 0.5, 1.5, -1.5, 2 ** 53, -(2 ** 53), 2 ** 60];

/** Invalid instants and costs, and the split reducer. */
export const inputLaws: readonly VisitLaw[] = [
  {
    name: "a bad now or cost is a RangeError or TypeError, and changes nothing",
    check({ algorithm: { codec } }) {
      // All of them after the first call, and then one in turn, because each is an error with its stack.
      let visits = 0;
      const turn = (bad: readonly number[]) =>
        visits === 0 ? bad : bad.slice(visits % bad.length).slice(0, 1);
      return ({ now, after, reducer }, expect) => {
        const text = codec.encode(after);
        for (const bad of turn(BAD_INSTANTS)) {
          expect(isRefused(() => reducer(after, bad, 1)), () => `a RangeError for now ${bad}`);
        }
        for (const bad of turn(BAD_COSTS)) {
          expect(isRefused(() => reducer(after, now, bad)), () => `a RangeError for cost ${bad}`);
        }
        visits++;
        expect(codec.encode(after) === text, "an unchanged state");
      };
    },
  },
  {
    name: "the split reducer answers as the reducer does",
    check: ({ algorithm: { internals: { halves: split } = {}, codec } }) => (visit, expect) => {
      if (split === undefined) return;
      const { before, now, cost, charge, decision, after } = visit;
      const next = (charge ? split.charge : split.take)(before, now, cost);
      const same = (before === after) === (before === next) &&
        codec.encode(next) === codec.encode(after);
      expect(same, `the same state from ${charge ? "charge" : "take"}`);
      const answer = charge
        ? split.decide(next, next, now, 0)
        : split.decide(before, next, now, cost);
      expect(sameDecision(answer, decision), "the same answer from decide");
    },
  },
];

function isRefused(call: () => unknown): boolean {
  try {
    call();
    return false;
  } catch (error) {
    return error instanceof RangeError || error instanceof TypeError;
  }
}
