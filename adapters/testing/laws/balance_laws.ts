import { lookAt } from "./probes.ts";
import { FIELDS } from "./same_decision.ts";
import type { VisitLaw } from "./visit_law.ts";
import { LAST_INSTANT } from "./visits.ts";

/** What a decision says is left, and when more will be. */
export const balanceLaws: readonly VisitLaw[] = [
  {
    name: "remaining is admitted and one more is not",
    check({ algorithm: { step, capacity } }, visits, expect) {
      for (const visit of visits) {
        const { now, after, decision: { remaining } } = visit;
        expect(visit, remaining >= 0 && remaining <= capacity, `0 to ${capacity} left`);
        const admits = (cost: number) => step(after, now, cost)[0].allowed;
        expect(visit, remaining === 0 || admits(remaining), `cost ${remaining} to be admitted`);
        expect(visit, !admits(remaining + 1), `cost ${remaining + 1} to be refused`);
      }
    },
  },
  {
    name: "nextAfter is when remaining grows",
    check(subject, visits, expect) {
      for (const visit of visits) {
        const { now, after, decision: { remaining, nextAfter } } = visit;
        if (remaining === subject.algorithm.capacity) {
          expect(visit, nextAfter === 0, "nextAfter 0 at capacity");
          continue;
        }
        expect(visit, nextAfter >= 1, "nextAfter of at least 1 ms below capacity");
        if (now + nextAfter > LAST_INSTANT) continue;
        const left = (wait: number) => lookAt(subject, after, now + wait).remaining;
        expect(visit, left(nextAfter) > remaining, `more left after ${nextAfter} ms`);
        expect(visit, left(nextAfter - 1) === remaining, `no more left after ${nextAfter - 1} ms`);
      }
    },
  },
  {
    name: "a decision has every field, in order, in whole numbers",
    check(_subject, visits, expect) {
      for (const visit of visits) {
        const { decision } = visit;
        expect(visit, Object.keys(decision).join() === FIELDS.join(), `fields ${FIELDS}`);
        const { limit, remaining, retryAfter, nextAfter, resetAfter, delay, debt } = decision;
        const durations = [
          nextAfter,
          resetAfter,
          delay,
          debt,
          ...(retryAfter < Infinity ? [retryAfter] : []),
        ];
        const whole = [limit, remaining, ...durations].every(isWhole);
        expect(visit, whole, "whole numbers of at least 0, and no -0");
        expect(visit, remaining === 0 || debt === 0, "no debt while any is left");
        expect(visit, decision.source === undefined, "source undefined");
      }
    },
  },
];

function isWhole(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && !Object.is(value, -0);
}
