import { LAST_INSTANT } from "../../../core/options/checks.ts";
import { FIELDS } from "./same_decision.ts";
import { lookAt, type VisitLaw } from "./visits.ts";

/** What a decision says is left, and when more will be. */
export const balanceLaws: readonly VisitLaw[] = [
  {
    name: "remaining is admitted and one more is not",
    check: ({ algorithm: { step, capacity } }) => ({ now, after, decision }, expect) => {
      const { remaining } = decision;
      expect(remaining >= 0 && remaining <= capacity, `0 to ${capacity} left`);
      const admits = (cost: number) => step(after, now, cost)[0].allowed;
      expect(remaining === 0 || admits(remaining), `cost ${remaining} to be admitted`);
      expect(!admits(remaining + 1), `cost ${remaining + 1} to be refused`);
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
];

function isWhole(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && !Object.is(value, -0);
}
