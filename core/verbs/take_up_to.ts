import type { Algorithm } from "../algorithm.ts";
import { requireNoPermits } from "../algorithms/holds_permits.ts";
import { splitReducer } from "../algorithms/split_reducer.ts";
import type { Decision } from "../decision.ts";
import type { Verb } from "../store.ts";

/** The answer to `consumeUpTo`. */
export interface Taken {
  /** The decision about the units that were taken, or the refusal of one unit if none was free. */
  readonly decision: Decision;
  /** Units that were taken: 0 to the most that was asked for. */
  readonly taken: number;
}

/** Takes the units that are free, up to a number of them. */
export const takeUpTo: Verb<number, Taken> = Object.freeze({
  name: "consumeUpTo",
  kind: "take",
  // The call is admitted if one unit is free.
  units: (most: number) => Math.min(most, 1),
  on(algorithm: Algorithm) {
    requireNoPermits("consumeUpTo", algorithm);
    const { take, decide } = splitReducer(algorithm);
    /** The cost of the call: the free units; 1 where none is free, so that the answer is a refusal. */
    function costIn(state: unknown, now: number, most: number): number {
      return Math.min(most, Math.max(1, decide(state, state, now, 0).remaining));
    }
    return {
      next: (state: unknown, now: number, most: number) =>
        take(state, now, costIn(state, now, most)),
      answer(state: unknown, next: unknown, now: number, most: number): Taken {
        const cost = costIn(state, now, most);
        const decision = decide(state, next, now, cost);
        return { decision, taken: decision.allowed ? cost : 0 };
      },
    };
  },
  decisionOf: ({ decision }: Taken) => decision,
  answerOf: (decision: Decision, answer?: Taken): Taken => (
    { decision, taken: answer?.taken ?? 0 }
  ),
  transition: () => undefined,
});
