import { difference, laterInstants, sameState } from "./probes.ts";
import type { VisitLaw } from "./visit_law.ts";
import type { Visit } from "./visits.ts";

/** The most single units that a law takes one by one. */
const MOST_STEPS = 12;

/** Units taken together, one by one, and given back. */
export const unitLaws: readonly VisitLaw[] = [
  {
    name: "cost n leaves the state of n costs of 1",
    check(subject, visits, expect) {
      const { step } = subject.algorithm;
      for (const visit of visits) {
        const units = unitsToSplit(visit);
        const [, together] = step(visit.after, visit.now, units);
        let state = visit.after;
        for (let i = 0; i < units; i++) {
          const [one, next] = step(state, visit.now, 1);
          expect(visit, one.allowed, `unit ${i + 1} of ${units} to be admitted by itself`);
          state = next;
        }
        expect(
          visit,
          sameState(subject, state, together),
          `${units} x 1 to leave what ${units} do`,
        );
      }
    },
  },
  {
    name: "giving back undoes taking, and no more",
    check(subject, visits, expect) {
      const { step } = subject.algorithm;
      for (const visit of visits) {
        const { after: state, now } = visit;
        const units = unitsToSplit(visit);
        const [, taken] = step(state, now, units);
        for (let back = 1; back < units; back++) {
          const [, returned] = step(taken, now, -back);
          const [, fewer] = step(state, now, units - back);
          const same = sameState(subject, returned, fewer);
          expect(visit, same, `${units} - ${back} to leave what ${units - back} do`);
        }
        if (units === 0) continue;
        const [, undone] = step(taken, now, -units);
        const found = difference(subject, undone, state, laterInstants(subject, visit));
        expect(visit, found === undefined, () => `after ${units} - ${units}, ${found}`);
      }
    },
  },
  {
    name: "giving back is allowed, at once, and takes nothing",
    check({ algorithm: { step, capacity } }, visits, expect) {
      for (const visit of visits) {
        for (const back of [1, 3, capacity, Number.MAX_SAFE_INTEGER]) {
          const [decision] = step(visit.after, visit.now, -back);
          const free = decision.allowed && decision.retryAfter === 0 && decision.delay === 0;
          expect(visit, free, `giving back ${back} to be allowed, at once`);
          const least = visit.decision.remaining;
          const within = decision.remaining >= least && decision.remaining <= capacity;
          expect(
            visit,
            within,
            () =>
              `${least} to ${capacity} left after giving back ${back}, not ${decision.remaining}`,
          );
        }
      }
    },
  },
  {
    name: "giving back everything leaves a fresh key, if the clock never stepped back",
    check(subject, visits, expect) {
      const { initial, step } = subject.algorithm;
      let latest = 0;
      for (const visit of visits) {
        latest = Math.max(latest, visit.now);
        const [decision, state] = step(visit.after, latest, -Number.MAX_SAFE_INTEGER);
        expect(visit, state === initial, () => `initial at ${latest} after giving back everything`);
        expect(visit, decision.resetAfter === 0, "resetAfter 0 after giving back everything");
      }
    },
  },
];

/** As many units as are left, if they are few. */
function unitsToSplit({ decision }: Visit): number {
  return Math.min(MOST_STEPS, decision.remaining);
}
