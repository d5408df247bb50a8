import { difference, laterInstants, lookAt, sameState } from "./probes.ts";
import { sameDecision } from "./same_decision.ts";
import type { VisitLaw } from "./visit_law.ts";
import { LAST_INSTANT, reducerOf } from "./visits.ts";

/** What a step leaves behind. */
export const stateLaws: readonly VisitLaw[] = [
  {
    name: "a refusal returns the same state",
    check(_subject, visits, expect) {
      for (const visit of visits) {
        expect(visit, visit.decision.allowed || visit.after === visit.before, "the same state");
      }
    },
  },
  {
    name: "cost 0 is allowed and changes nothing",
    check({ algorithm: { step } }, visits, expect) {
      for (const visit of visits) {
        for (const state of [visit.before, visit.after]) {
          const [look, next] = step(state, visit.now, 0);
          expect(visit, next === state, "a look to return the same state");
          const free = look.allowed && look.retryAfter === 0 && look.delay === 0;
          expect(visit, free, "a look to be allowed, at once");
        }
      }
    },
  },
  {
    name: "a look tells the balance that the call told",
    check(subject, visits, expect) {
      for (const visit of visits) {
        const { allowed, remaining, nextAfter, resetAfter, debt } = visit.decision;
        const look = lookAt(subject, visit.after, visit.now);
        const same = look.remaining === remaining && look.nextAfter === nextAfter &&
          look.resetAfter === resetAfter && look.debt === debt;
        expect(visit, same, `a look after a ${allowed ? "call" : "refusal"} to tell the same`);
      }
    },
  },
  {
    name: "a step that leaves no use returns initial",
    check({ algorithm: { initial, capacity } }, visits, expect) {
      for (const visit of visits) {
        const { cost, decision, after } = visit;
        if (cost === 0 || !decision.allowed) continue;
        expect(
          visit,
          (decision.resetAfter === 0) === (after === initial),
          () => after === initial ? "resetAfter 0, as the state is initial" : "the state initial",
        );
        if (after !== initial) continue;
        const fresh = decision.remaining === capacity && decision.nextAfter === 0;
        expect(visit, fresh, `${capacity} left, as the state is initial`);
      }
    },
  },
  {
    name: "after resetAfter a key behaves as fresh",
    check(subject, visits, expect) {
      for (const visit of visits) {
        const reset = visit.now + visit.decision.resetAfter;
        if (reset > LAST_INSTANT) continue;
        const instants = [reset, ...laterInstants(subject, visit).filter((now) => now > reset)];
        const found = difference(subject, visit.after, subject.algorithm.initial, instants);
        expect(visit, found === undefined, () => `as from a fresh key, ${found}`);
      }
    },
  },
  {
    name: "resetAfter counts down to the millisecond",
    check(subject, visits, expect) {
      for (const visit of visits) {
        const { now, after, decision: { resetAfter } } = visit;
        for (const wait of [1, Math.floor(resetAfter / 2), resetAfter - 1, resetAfter]) {
          if (wait < 0 || wait > resetAfter || now + wait > LAST_INSTANT) continue;
          const left = lookAt(subject, after, now + wait).resetAfter;
          expect(
            visit,
            left === resetAfter - wait,
            () => `resetAfter ${resetAfter - wait} after ${wait} ms, not ${left}`,
          );
        }
      }
    },
  },
  {
    name: "an old state answers as it did before",
    check(subject, visits, expect) {
      for (const visit of visits) {
        const reducer = reducerOf(subject.algorithm, visit.charge);
        const [decision, after] = reducer(visit.before, visit.now, visit.cost);
        expect(visit, sameDecision(decision, visit.decision), "the same answer when asked again");
        expect(visit, sameState(subject, after, visit.after), "the same state when asked again");
      }
    },
  },
];
