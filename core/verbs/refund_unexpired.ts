/*
 * Gives back the units of an earlier call as far as they still count. Once a key would be fresh again
 * they no longer do: giving them back would free the units of later calls, in the next window. The
 * parts of an `all` are treated separately, because units of a second expire long before units of a
 * day.
 */

import type { Algorithm } from "../algorithm.ts";
import { takeAll } from "../algorithms/all.ts";
import { requireNoPermits } from "../algorithms/holds_permits.ts";
import { splitReducer } from "../algorithms/split_reducer.ts";
import type { Decision } from "../decision.ts";
import type { Verb } from "../store.ts";

/** The units that are given back. */
export interface TakenUnits {
  readonly units: number;
  /** The decision by which they were taken. */
  readonly decision: Decision;
  /** Milliseconds that have passed since then. */
  readonly passed: number;
}

/** Gives units back to the parts in which they still count. */
export const refundUnexpired: Verb<TakenUnits, Decision> = Object.freeze({
  name: "refund",
  kind: "free",
  units: ({ units }: TakenUnits) => units,
  on(algorithm: Algorithm) {
    requireNoPermits("refund", algorithm);
    const { decide } = splitReducer(algorithm);
    const giveBack = givingBack(algorithm);
    const look = (state: unknown, now: number) => decide(state, state, now, 0);
    return {
      next: (state: unknown, now: number, taken: TakenUnits) =>
        giveBack(state, now, taken, taken.decision),
      answer: (_state: unknown, next: unknown, now: number) => look(next, now),
      uncharged: look,
    };
  },
  decisionOf: (decision: Decision) => decision,
  answerOf: (decision: Decision) => decision,
  transition: () => undefined,
});

type GiveBack = (state: unknown, now: number, taken: TakenUnits, decision: Decision) => unknown;

function givingBack(algorithm: Algorithm): GiveBack {
  const { take } = splitReducer(algorithm);
  const parts = algorithm.internals?.parts;
  const each = parts?.map(givingBack);
  return function giveBack(state, now, taken, decision) {
    const { units, passed } = taken;
    if (passed >= decision.resetAfter) return state;
    if (each === undefined || decision.parts?.length !== each.length) {
      return take(state, now, -units);
    }
    const states = state as readonly unknown[];
    const takes = each.map((own, index) => () =>
      own(states[index], now, taken, decision.parts![index]!)
    );
    return takeAll(takes, algorithm.initial as readonly unknown[], () => false)(
      states,
      now,
      -units,
    );
  };
}
