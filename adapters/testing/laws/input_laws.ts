import { sameDecision } from "./same_decision.ts";
import type { VisitLaw } from "./visit_law.ts";

const BAD_INSTANTS: readonly unknown[] = [
  NaN,
  Infinity,
  -Infinity,
  -1,
  -0.5,
  2 ** 42 + 1,
  2 ** 53,
  undefined,
  null,
  "1000",
  1000n,
];

const BAD_COSTS: readonly unknown[] = [
  NaN,
  Infinity,
  -Infinity,
  0.5,
  1.5,
  -1.5,
  2 ** 53,
  -(2 ** 53),
  2 ** 60,
  undefined,
  null,
  "1",
  1n,
];

/** What is no instant or no cost; and the two halves of a reducer. */
export const inputLaws: readonly VisitLaw[] = [
  {
    name: "a bad now or cost is a RangeError or TypeError, and changes nothing",
    check({ algorithm: { step, charge, codec } }, visits, expect) {
      for (const visit of visits) {
        const text = codec.encode(visit.after);
        for (const reducer of [step, charge]) {
          for (const now of BAD_INSTANTS) {
            const thrown = errorOf(() => reducer(visit.after, now as number, 1));
            expect(visit, isOutOfRange(thrown), () => `a RangeError for now ${String(now)}`);
          }
          for (const cost of BAD_COSTS) {
            const thrown = errorOf(() => reducer(visit.after, visit.now, cost as number));
            expect(visit, isOutOfRange(thrown), () => `a RangeError for cost ${String(cost)}`);
          }
        }
        expect(visit, codec.encode(visit.after) === text, "an unchanged state");
      }
    },
  },
  {
    name: "the halves of a reducer agree with it",
    check({ algorithm: { internals: { halves } = {}, codec } }, visits, expect) {
      if (halves === undefined) return;
      for (const visit of visits) {
        const { before, now, cost, charge, decision, after } = visit;
        const next = (charge ? halves.charge : halves.take)(before, now, cost);
        const same = (before === after) === (before === next) &&
          codec.encode(next) === codec.encode(after);
        expect(visit, same, `the same state from ${charge ? "charge" : "take"}`);
        const answer = charge
          ? halves.decide(next, next, now, 0)
          : halves.decide(before, next, now, cost);
        expect(visit, sameDecision(answer, decision), "the same answer from decide");
      }
    },
  },
];

function errorOf(call: () => unknown): unknown {
  try {
    call();
    return undefined;
  } catch (error) {
    return error;
  }
}

function isOutOfRange(error: unknown): boolean {
  return error instanceof RangeError || error instanceof TypeError;
}
