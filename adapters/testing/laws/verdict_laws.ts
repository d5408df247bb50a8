import { LAST_INSTANT } from "../../../core/options/checks.ts";
import { sameDecision } from "./same_decision.ts";
import { laterInstants, lookAt, type VisitLaw } from "./visits.ts";

/** When a call is admitted, and what the decision says if not. */
export const verdictLaws: readonly VisitLaw[] = [
  {
    name: "retryAfter is the first millisecond that admits",
    check: ({ algorithm: { step, capacity } }) => ({ before, now, cost, decision }, expect) => {
      const { allowed, retryAfter } = decision;
      if (allowed) return expect(retryAfter === 0, "retryAfter 0, as it is allowed");
      if (cost > capacity) return expect(retryAfter === Infinity, "retryAfter Infinity");
      expect(retryAfter >= 1 && retryAfter < Infinity, "retryAfter of at least 1 ms");
      if (now + retryAfter > LAST_INSTANT) return;
      const admits = (wait: number) => step(before, now + wait, cost)[0].allowed;
      expect(admits(retryAfter), `to be admitted after ${retryAfter} ms`);
      expect(!admits(retryAfter - 1), `to be refused after ${retryAfter - 1} ms`);
    },
  },
  {
    name: "a fresh key admits exactly its capacity",
    check: ({ algorithm: { step, capacity, initial } }) => ({ now }, expect) => {
      const [full, used] = step(initial, now, capacity);
      const [over] = step(initial, now, capacity + 1);
      const [again] = step(used, now, 1);
      expect(full.allowed && full.remaining === 0, `a fresh key to admit ${capacity}`);
      expect(!over.allowed, `a fresh key to refuse ${capacity + 1}`);
      expect(over.remaining === capacity, `a fresh key to have ${capacity} left`);
      expect(!again.allowed, `a key to refuse 1 after ${capacity}`);
    },
  },
  {
    name: "what is admitted at an instant is admitted at every later one",
    check: (subject) => (visit, expect) => {
      const { before, cost, charge, decision, after } = visit;
      let remaining = 0;
      for (const later of laterInstants(subject, visit)) {
        if (decision.allowed && cost > 0 && !charge) {
          const { allowed } = subject.algorithm.step(before, later, cost)[0];
          expect(allowed, `to be admitted at ${later} too`);
        }
        const left = lookAt(subject, after, later).remaining;
        expect(left >= remaining, `at least ${remaining} left at ${later}, not ${left}`);
        remaining = left;
      }
    },
  },
  {
    name: "a fraction of now is floored",
    check: () => ({ before, now, cost, reducer, decision }, expect) => {
      if (now === LAST_INSTANT) return;
      const [fractional] = reducer(before, now + 0.75, cost);
      expect(sameDecision(fractional, decision), `the same answer at ${now + 0.75}`);
    },
  },
];
