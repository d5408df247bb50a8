/*
 * The laws of a single step: when it admits, what state it leaves, and that each duration in its
 * decision is exact to the millisecond. They ask the reducer itself, so they need no model.
 */

import { LAST_INSTANT } from "../../../core/options/checks.ts";
import { FIELDS, sameDecision } from "./same_decision.ts";
import { difference, laterInstants, lookAt, sameState, type VisitLaw } from "./visits.ts";

/**
 * Each law checks one step at a time, and looks at the same key at later instants. Laws come in the
 * order of causes: a reducer that keeps a secret, or a refusal that is charged, breaks most of those
 * that follow.
 */
export const stepLaws: readonly VisitLaw[] = [
  {
    name: "an old state answers as it did before",
    check: (subject) => ({ before, now, cost, reducer, decision, after }, expect) => {
      const [again, next] = reducer(before, now, cost);
      expect(sameDecision(again, decision), "the same answer from the same call");
      expect(sameState(subject, next, after), "the same state from the same call");
    },
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
    name: "a refusal returns the same state",
    check: () => ({ before, decision, after }, expect) =>
      expect(decision.allowed || after === before, "the same state"),
  },
  {
    name: "a decision has every field, in order, in whole numbers",
    check: () => ({ decision }, expect) => {
      expect(Object.keys(decision).join() === FIELDS.join(), `fields ${FIELDS}`);
      const { limit, remaining, retryAfter, nextAfter, resetAfter, delay, debt } = decision;
      const numbers = [limit, remaining, nextAfter, resetAfter, delay, debt];
      const whole = numbers.every(isWhole) && (retryAfter === Infinity || isWhole(retryAfter));
      expect(whole, "whole numbers of at least 0, and no -0");
      expect(remaining === 0 || debt === 0, "no debt while any is left");
      expect(decision.source === undefined, "source undefined");
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
  {
    name: "remaining is admitted and one more is not",
    check: ({ algorithm: { step, capacity } }) => ({ now, after, decision }, expect) => {
      const { remaining } = decision;
      expect(remaining >= 0 && remaining <= capacity, `0 to ${capacity} left`);
      const admits = (cost: number) => step(after, now, cost)[0].allowed;
      expect(
        remaining === 0 || admits(remaining),
        `cost ${remaining} to be admitted, as remaining says: it was refused`,
      );
      expect(
        !admits(remaining + 1),
        `cost ${remaining + 1}, more than remaining, to be refused: it was admitted`,
      );
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
        () =>
          after === initial ? "resetAfter 0, because the state is initial" : "the state initial",
      );
      if (after !== initial) return;
      const fresh = decision.remaining === capacity && decision.nextAfter === 0;
      expect(fresh, `${capacity} left, because the state is initial`);
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
          expect(allowed, `to be admitted at ${later} too: it was refused`);
        }
        const left = lookAt(subject, after, later).remaining;
        expect(left >= remaining, `at least ${remaining} left at ${later}, not ${left}`);
        remaining = left;
      }
    },
  },
  {
    name: "retryAfter is the first millisecond that admits",
    check: ({ algorithm: { step, capacity } }) => ({ before, now, cost, decision }, expect) => {
      const { allowed, retryAfter } = decision;
      if (allowed) return expect(retryAfter === 0, "retryAfter 0, because it is allowed");
      if (cost > capacity) return expect(retryAfter === Infinity, "retryAfter Infinity");
      expect(retryAfter >= 1 && retryAfter < Infinity, "retryAfter of at least 1 ms");
      if (now + retryAfter > LAST_INSTANT) return;
      const admits = (wait: number) => step(before, now + wait, cost)[0].allowed;
      expect(
        admits(retryAfter),
        `to be admitted after ${retryAfter} ms, as retryAfter says: it was refused`,
      );
      expect(
        !admits(retryAfter - 1),
        `to be refused after ${retryAfter - 1} ms, before retryAfter: it was admitted`,
      );
    },
  },
  {
    name: "nextAfter is when remaining grows",
    check: (subject) => ({ now, after, decision: { remaining, nextAfter } }, expect) => {
      if (remaining === subject.algorithm.capacity) {
        return expect(nextAfter === 0, "nextAfter 0 at capacity");
      }
      expect(nextAfter >= 1, "nextAfter of at least 1 ms below capacity");
      if (now + nextAfter > LAST_INSTANT) return;
      const left = (wait: number) => lookAt(subject, after, now + wait).remaining;
      expect(left(nextAfter) > remaining, `more left after ${nextAfter} ms`);
      expect(left(nextAfter - 1) === remaining, `no more left after ${nextAfter - 1} ms`);
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
];

function isWhole(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && !Object.is(value, -0);
}
