/*
 * Gives back a place in a queue if it is the newest one. If a place in the middle were given back, the
 * next call would be given the newest place, which is taken.
 */

import type { Algorithm } from "../algorithm.ts";
import { requireNoPermits } from "../algorithms/holds_permits.ts";
import { splitReducer } from "../algorithms/split_reducer.ts";
import type { Decision } from "../decision.ts";
import type { Verb } from "../store.ts";
import { queueResetAfter } from "./queue_reset_after.ts";

/** The place that is given back. */
export interface PlaceInQueue {
  /** Units that it took. */
  readonly cost: number;
  /** `freshAt` of the attempt that took it: as long as that holds, nobody has taken units since. */
  readonly freshAt: number;
}

/** Gives units back if no call has taken any since. */
export const refundNewest: Verb<PlaceInQueue, Decision> = Object.freeze({
  name: "refund",
  kind: "free",
  units: ({ cost }: PlaceInQueue) => cost,
  on(algorithm: Algorithm) {
    requireNoPermits("refund", algorithm);
    const { take, decide } = splitReducer(algorithm);
    const look = (state: unknown, now: number) => decide(state, state, now, 0);
    return {
      next(state: unknown, now: number, { cost, freshAt }: PlaceInQueue) {
        const isNewest = now + queueResetAfter(algorithm, look(state, now)) === freshAt;
        return isNewest ? take(state, now, -cost) : state;
      },
      answer: (_state: unknown, next: unknown, now: number) => look(next, now),
      uncharged: look,
    };
  },
  decisionOf: (decision: Decision) => decision,
  answerOf: (decision: Decision) => decision,
  transition: () => undefined,
});
