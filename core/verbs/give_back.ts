import type { Algorithm } from "../algorithm.ts";
import { requireNoPermits } from "../algorithms/holds_permits.ts";
import { splitReducer } from "../algorithms/split_reducer.ts";
import type { Decision, DecisionSource } from "../decision.ts";
import type { Verb } from "../store.ts";

/** The units of one call of this process. */
export interface GiveBackArgument {
  /** All units that the call took. */
  readonly units: number;
  /** The numbers that find the units again. */
  readonly marks: readonly number[];
  /** The source that admitted the call. */
  readonly source?: DecisionSource | undefined;
  /** Units that were given back since the call. */
  readonly since?: number | undefined;
}

/** Gives back what a call took and still counts. The caller sees to it that it does so once. */
export const giveBackCall: Verb<GiveBackArgument, Decision> = Object.freeze({
  name: "settle",
  kind: "free",
  units: ({ units }: GiveBackArgument) => units,
  on(algorithm: Algorithm) {
    requireNoPermits("settle", algorithm);
    const { decide } = splitReducer(algorithm);
    const { returns } = algorithm.internals ?? {};
    return {
      next: (state: unknown, now: number, { units, marks, since = 0 }: GiveBackArgument) =>
        returns === undefined || marks.length !== returns.marks || units === 0
          ? state
          : returns.giveBack(state, now, units, marks, since).next,
      answer: (_state: unknown, next: unknown, now: number) => decide(next, next, now, 0),
    };
  },
  decisionOf: (decision: Decision) => decision,
  answerOf: (decision: Decision) => decision,
  transition: () => undefined,
  sourceOf: ({ source }: GiveBackArgument) => source,
});
