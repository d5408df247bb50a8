import { laterInstants, lookAt } from "./probes.ts";
import { sameDecision } from "./same_decision.ts";
import { LAST_INSTANT, reducerOf } from "./visits.ts";
import type { VisitLaw } from "./visit_law.ts";

/** When a call is admitted, and what it is told if not. */
export const verdictLaws: readonly VisitLaw[] = [
  {
    name: "retryAfter is the first millisecond that admits",
    check({ algorithm: { step, capacity } }, visits, expect) {
      for (const visit of visits) {
        const { before, now, cost, decision: { allowed, retryAfter } } = visit;
        if (allowed) expect(visit, retryAfter === 0, "retryAfter 0, as it is allowed");
        else if (cost > capacity) expect(visit, retryAfter === Infinity, "retryAfter Infinity");
        else {
          expect(visit, retryAfter >= 1 && retryAfter < Infinity, "retryAfter of at least 1 ms");
          if (now + retryAfter > LAST_INSTANT) continue;
          const admits = (wait: number) => step(before, now + wait, cost)[0].allowed;
          expect(visit, admits(retryAfter), `to be admitted after ${retryAfter} ms`);
          expect(visit, !admits(retryAfter - 1), `to be refused after ${retryAfter - 1} ms`);
        }
      }
    },
  },
  {
    name: "a fresh key admits exactly its capacity",
    check({ algorithm: { step, capacity, initial } }, visits, expect) {
      for (const visit of visits) {
        const [full, used] = step(initial, visit.now, capacity);
        const [over] = step(initial, visit.now, capacity + 1);
        const [again] = step(used, visit.now, 1);
        expect(visit, full.allowed && full.remaining === 0, `a fresh key to admit ${capacity}`);
        expect(visit, !over.allowed, `a fresh key to refuse ${capacity + 1}`);
        expect(visit, over.remaining === capacity, `a fresh key to have ${capacity} left`);
        expect(visit, !again.allowed, `a key to refuse 1 after ${capacity}`);
      }
    },
  },
  {
    name: "what is admitted at an instant is admitted at every later one",
    check(subject, visits, expect) {
      const { step } = subject.algorithm;
      for (const visit of visits) {
        const { before, cost, charge, decision, after } = visit;
        let remaining = 0;
        for (const later of laterInstants(subject, visit)) {
          if (decision.allowed && cost > 0 && !charge) {
            expect(visit, step(before, later, cost)[0].allowed, `to be admitted at ${later} too`);
          }
          const left = lookAt(subject, after, later).remaining;
          expect(visit, left >= remaining, `at least ${remaining} left at ${later}, not ${left}`);
          remaining = left;
        }
      }
    },
  },
  {
    name: "a fraction of now is floored",
    check({ algorithm }, visits, expect) {
      for (const visit of visits) {
        const { before, now, cost, charge, decision } = visit;
        if (now === LAST_INSTANT) continue;
        const [fractional] = reducerOf(algorithm, charge)(before, now + 0.75, cost);
        expect(visit, sameDecision(fractional, decision), `the same answer at ${now + 0.75}`);
      }
    },
  },
];
