/*
 * One attempt of a caller that waits its turn: `consume`, except that it refuses a call whose start
 * would come later than the caller can wait. The answer has everything that a waiting caller needs:
 * the store's instant, the mark by which the units are found again, and, after a refusal, the state
 * from which later admissions are projected.
 */

import type { Algorithm, SplitReducer } from "../algorithm.ts";
import { detachState } from "../algorithms/detach_state.ts";
import { requireNoPermits } from "../algorithms/holds_permits.ts";
import { splitReducer } from "../algorithms/split_reducer.ts";
import type { Decision } from "../decision.ts";
import type { Verb } from "../store.ts";
import { givingBack } from "./settle.ts";
import { type Reserved, takeBackable } from "./take_backable.ts";

/** The request of an attempt. */
export interface AttemptArgument {
  /** Units to take. */
  readonly cost: number;
  /** The longest delay before the start, in milliseconds; may be `Infinity`. */
  readonly maxDelay: number;
  /** A random number of at least 1, by which a key tells its lists of calls apart. */
  readonly id: number;
}

/** A state, and the instant at which it was read. */
export interface StateAt {
  /** The state. */
  readonly state: unknown;
  /** The instant, in milliseconds since the Unix epoch. */
  readonly at: number;
}

/** The key's state as an attempt saw it. */
export interface Sight {
  /** The state of a refusal; `undefined` if the call was admitted. */
  readonly refusedState: StateAt | undefined;
  /** The instant of the attempt. */
  readonly at: number;
  /** Finds the units of this call again; `undefined` if it took none, or they cannot be given back. */
  readonly mark: Reserved["mark"];
}

/** The answer to an attempt. */
export interface Attempt {
  /** The decision; a start that would come too late is a refusal. */
  readonly decision: Decision;
  /**
   * The state that it saw; `undefined` if another store, or a failure policy, answered without the
   * state.
   */
  readonly sight: Sight | undefined;
}

/** One attempt to take units whose start may be delayed. */
export const attempt: Verb<AttemptArgument, Attempt> = Object.freeze({
  ...takeBackable,
  name: "acquire",
  on(algorithm: Algorithm) {
    requireNoPermits("acquire", algorithm);
    const { next: nextOf, answer: answerOf } = takeBackable.on(algorithm);
    const split = splitReducer(algorithm);
    return {
      next: nextOf,
      answer(state: unknown, next: unknown, now: number, argument: AttemptArgument): Attempt {
        if (next !== state) {
          const { decision, mark } = answerOf(state, next, now, argument);
          return { decision, sight: { refusedState: undefined, at: now, mark } };
        }
        const decision = refusal(split, state, now, argument);
        const refusedState = decision.allowed
          ? undefined
          : { state: detachState(algorithm, state), at: now };
        return { decision, sight: { refusedState, at: now, mark: undefined } };
      },
    };
  },
  decisionOf: ({ decision }: Attempt) => decision,
  answerOf: (decision: Decision, answer?: Attempt) => ({
    decision,
    sight: decision.source === "policy" ? undefined : answer?.sight,
  }),
  undo: ({ cost }: AttemptArgument, answer: Attempt | undefined) =>
    answer && givingBack(cost, answer.decision, answer.sight?.mark),
});

/** The decision about a call that took nothing. If it would start too late, it is refused for its delay. */
function refusal(
  { take, decide }: SplitReducer<unknown>,
  state: unknown,
  now: number,
  { cost, maxDelay }: AttemptArgument,
): Decision {
  const decision = decide(state, take(state, now, cost), now, cost);
  if (!decision.allowed || decision.delay <= maxDelay) return decision;
  return { ...decide(state, state, now, 0), allowed: false, retryAfter: decision.delay };
}
