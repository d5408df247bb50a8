import { difference, laterInstants, sameState, type Visit, type VisitLaw } from "./visits.ts";

/** The most single units that a law takes one by one. */
const MOST_STEPS = 12;

/** Units taken together, one by one, and given back. */
export const unitLaws: readonly VisitLaw[] = [
  {
    name: "cost n leaves the state of n costs of 1",
    check: (subject) => (visit, expect) => {
      const { step } = subject.algorithm;
      const units = unitsToSplit(visit);
      let state = visit.after;
      for (let i = 0; i < units; i++) {
        const [one, next] = step(state, visit.now, 1);
        expect(one.allowed, `unit ${i + 1} of ${units} to be admitted by itself`);
        state = next;
      }
      const [, together] = step(visit.after, visit.now, units);
      expect(sameState(subject, state, together), `${units} x 1 to leave what ${units} do`);
    },
  },
  {
    name: "giving back undoes taking, and no more",
    check: (subject) => (visit, expect) => {
      const { step } = subject.algorithm;
      const { after: state, now } = visit;
      const units = unitsToSplit(visit);
      const [, taken] = step(state, now, units);
      for (let back = 1; back < units; back++) {
        const [, returned] = step(taken, now, -back);
        const [, fewer] = step(state, now, units - back);
        const same = sameState(subject, returned, fewer);
        expect(same, `${units} - ${back} to leave what ${units - back} do`);
      }
      if (units === 0) return;
      const [, undone] = step(taken, now, -units);
      const found = difference(subject, undone, state, laterInstants(subject, visit));
      expect(found === undefined, () => `after ${units} - ${units}, ${found}`);
    },
  },
  {
    name: "giving back is allowed, at once, and takes nothing",
    check: ({ algorithm: { step, capacity } }) => ({ now, after, decision }, expect) => {
      const least = decision.remaining;
      for (const back of [1, 3, capacity, Number.MAX_SAFE_INTEGER]) {
        const [{ allowed, retryAfter, delay, remaining }] = step(after, now, -back);
        const free = allowed && retryAfter === 0 && delay === 0;
        expect(free, `giving back ${back} to be allowed, at once`);
        expect(
          remaining >= least && remaining <= capacity,
          () => `${least} to ${capacity} left after giving back ${back}, not ${remaining}`,
        );
      }
    },
  },
  {
    name: "giving back everything leaves a fresh key, if the clock never stepped back",
    check: ({ algorithm: { initial, step } }) => {
      let latest = 0;
      return ({ now, after }, expect) => {
        latest = Math.max(latest, now);
        const [decision, state] = step(after, latest, -Number.MAX_SAFE_INTEGER);
        expect(state === initial, () => `initial at ${latest} after giving back everything`);
        expect(decision.resetAfter === 0, "resetAfter 0 after giving back everything");
      };
    },
  },
];

/** As many units as are left, if they are few. */
function unitsToSplit({ decision }: Visit): number {
  return Math.min(MOST_STEPS, decision.remaining);
}
