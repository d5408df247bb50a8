/*
 * The laws of units: taking, giving back and charging add up, in one call or in several. Refunds
 * and debt rest on this arithmetic, where an error of one unit goes unnoticed for long.
 */

import type { Decision } from "../../../core/decision.ts";
import { sameDecision } from "./same_decision.ts";
import {
  difference,
  laterInstants,
  lookAt,
  sameState,
  type Visit,
  type VisitLaw,
} from "./visits.ts";

/** The most units that a law takes one by one. */
const MAX_STEPS = 12;

const EVERYTHING = Number.MAX_SAFE_INTEGER;

/** Charges to try: below the units left, up to them, and beyond. */
function chargesAfter({ decision: { remaining } }: Visit): number[] {
  return [1, 5, Math.ceil(remaining / 2), remaining, remaining + 1, remaining + 7]
    .filter((units) => units >= 1);
}

/** Whether a key, or a part of it, is at the bound on debt, where units may have been dropped. */
function isCut(decision: Decision, most: Decision): boolean {
  return decision.parts?.some((part, index) => isCut(part, most.parts![index]!)) ??
    decision.debt === most.debt;
}

/** Units taken together or one by one, charged beyond the limit, and given back. */
export const unitLaws: readonly VisitLaw[] = [
  {
    name: "cost n leaves the state of n costs of 1",
    check: (subject) => (visit, expect) => {
      const { step } = subject.algorithm;
      const units = unitsToSplit(visit);
      let state = visit.after;
      for (let i = 0; i < units; i++) {
        const [one, next] = step(state, visit.now, 1);
        expect(
          one.allowed,
          `unit ${i + 1} of ${units} to be admitted by itself, as all are: it was refused`,
        );
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
    fromFresh: true,
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
  {
    name: "a charge takes what a call would, and owes the rest",
    check: (subject) => (visit, expect) => {
      const { step, charge, initial } = subject.algorithm;
      const { after, now } = visit;
      const before = lookAt(subject, after, now);
      const [most] = charge(initial, now, EVERYTHING);
      for (const units of chargesAfter(visit)) {
        const [decision, next] = charge(after, now, units);
        const free = decision.allowed && decision.retryAfter === 0 && decision.delay === 0;
        expect(free, `a charge of ${units} to be allowed, at once`);
        const same = sameDecision(decision, lookAt(subject, next, now));
        expect(same, `a charge of ${units} to answer as a look after it`);
        if (units <= before.remaining) {
          const isTaken = sameState(subject, next, step(after, now, units)[1]);
          expect(isTaken, `a charge of ${units} to leave what a call does`);
        }
        if (isCut(decision, most)) continue;
        const owed = before.debt - before.remaining + units;
        expect(decision.debt === Math.max(0, owed), `a debt of ${owed} after ${units}`);
        expect(decision.remaining === Math.max(0, -owed), `${-owed} left after ${units}`);
      }
    },
  },
  {
    name: "charged at once is charged in parts",
    check: (subject) => (visit, expect) => {
      const { charge } = subject.algorithm;
      const { after, now } = visit;
      for (const units of chargesAfter(visit)) {
        const [, together] = charge(after, now, units + 3);
        let [, parts] = charge(after, now, units);
        for (let part = 0; part < 3; part++) parts = charge(parts, now, 1)[1];
        const same = sameState(subject, parts, together);
        expect(same, `${units} + 1 + 1 + 1 to leave what ${units + 3} do`);
      }
    },
  },
  {
    name: "giving back what was charged undoes it",
    check: (subject) => (visit, expect) => {
      const { step, charge, initial } = subject.algorithm;
      const { after, now } = visit;
      const [most] = charge(initial, now, EVERYTHING);
      for (const units of [1, visit.decision.remaining + 7]) {
        const [charged, next] = charge(after, now, units);
        if (isCut(charged, most)) continue;
        const [, undone] = step(next, now, -units);
        const found = difference(subject, undone, after, laterInstants(subject, visit));
        expect(found === undefined, () => `after ${units} charged - ${units}, ${found}`);
      }
    },
  },
  {
    name: "debt is cut at a bound, only drains, and ends when one unit is admitted",
    check: (subject) => (visit, expect) => {
      const { capacity, charge, initial, step } = subject.algorithm;
      const { after, now } = visit;
      const most = charge(initial, now, EVERYTHING)[0].debt;
      const stated = Number(subject.rule?.maxDebt ?? most);
      expect(most === stated, `a debt of at most ${stated}, not ${most}`);
      const [full, state] = charge(after, now, EVERYTHING);
      expect(full.debt === most, `a debt of at most ${most}, not ${full.debt}`);
      const [again, same] = charge(state, now, 1);
      expect(again.debt === most, `a debt of at most ${most}, not ${again.debt}`);
      expect(sameState(subject, same, state), "the same state once the bound is reached");
      const wait = step(state, now, 1)[0].retryAfter;
      const next = capacity === 0 ? Infinity : full.nextAfter;
      expect(wait === next && wait >= 1, `retryAfter ${next}, not ${wait}`);
      let debt = most;
      for (const later of laterInstants(subject, { ...visit, decision: full })) {
        const left = lookAt(subject, state, later).debt;
        expect(left <= debt, `a debt of at most ${debt} at ${later}, not ${left}`);
        debt = left;
      }
    },
  },
];

/** The units that are left, up to `MAX_STEPS`. */
function unitsToSplit({ decision }: Visit): number {
  return Math.min(MAX_STEPS, decision.remaining);
}
