import { LAST_INSTANT } from "../../../core/options/checks.ts";
import { sameDecision } from "./same_decision.ts";
import { difference, laterInstants, lookAt, sameState, type VisitLaw } from "./visits.ts";

/** What a step leaves behind. */
export const stateLaws: readonly VisitLaw[] = [
  {
    name: "a refusal returns the same state",
    check: () => ({ before, decision, after }, expect) =>
      expect(decision.allowed || after === before, "the same state"),
  },
  {
    name: "cost 0 is allowed and changes nothing",
    check: ({ algorithm: { step } }) => ({ before, now, after }, expect) => {
      for (const state of [before, after]) {
        const [look, next] = step(state, now, 0);
        expect(next === state, "a look to return the same state");
        const free = look.allowed && look.retryAfter === 0 && look.delay === 0;
        expect(free, "a look to be allowed, at once");
      }
    },
  },
  {
    name: "a look returns the balance that the call returned",
    check: (subject) => ({ now, decision, after }, expect) => {
      const { allowed, remaining, nextAfter, resetAfter, debt } = decision;
      const look = lookAt(subject, after, now);
      const same = look.remaining === remaining && look.nextAfter === nextAfter &&
        look.resetAfter === resetAfter && look.debt === debt;
      expect(same, `the same balance from a look after a ${allowed ? "call" : "refusal"}`);
    },
  },
  {
    name: "a step that leaves no use returns initial",
    check: ({ algorithm: { initial, capacity } }) => ({ cost, decision, after }, expect) => {
      if (cost === 0 || !decision.allowed) return;
      expect(
        (decision.resetAfter === 0) === (after === initial),
        () => after === initial ? "resetAfter 0, as the state is initial" : "the state initial",
      );
      if (after !== initial) return;
      const fresh = decision.remaining === capacity && decision.nextAfter === 0;
      expect(fresh, `${capacity} left, as the state is initial`);
    },
  },
  {
    name: "after resetAfter a key behaves as fresh",
    check: (subject) => (visit, expect) => {
      const reset = visit.now + visit.decision.resetAfter;
      if (reset > LAST_INSTANT) return;
      const instants = [reset, ...laterInstants(subject, visit).filter((now) => now > reset)];
      const found = difference(subject, visit.after, subject.algorithm.initial, instants);
      expect(found === undefined, () => `as from a fresh key, ${found}`);
    },
  },
  {
    name: "resetAfter counts down to the millisecond",
    check: (subject) => ({ now, after, decision: { resetAfter } }, expect) => {
      for (const wait of [1, Math.floor(resetAfter / 2), resetAfter - 1, resetAfter]) {
        if (wait < 0 || wait > resetAfter || now + wait > LAST_INSTANT) continue;
        const left = lookAt(subject, after, now + wait).resetAfter;
        const due = resetAfter - wait;
        expect(left === due, () => `resetAfter ${due} after ${wait} ms, not ${left}`);
      }
    },
  },
  {
    name: "an old state answers as it did before",
    check: (subject) => ({ before, now, cost, reducer, decision, after }, expect) => {
      const [again, next] = reducer(before, now, cost);
      expect(sameDecision(again, decision), "the same answer from the same call");
      expect(sameState(subject, next, after), "the same state from the same call");
    },
  },
];
