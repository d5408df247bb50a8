/*
 * One attempt of a caller that waits its turn: `consume`, except that it refuses a call whose start
 * would come later than the caller can wait. The answer has everything that a waiting caller needs:
 * the store's instant, the mark by which the units are found again, and, after a refusal, the state
 * from which later admissions are projected.
 */

import type { Algorithm, SplitReducer } from "../algorithm.ts";
import { detachState } from "../algorithms/detach_state.ts";
import { requireNoPermits } from "../algorithms/holds_permits.ts";
import { mayDelay } from "../algorithms/may_delay.ts";
import { splitReducer } from "../algorithms/split_reducer.ts";
import type { Decision } from "../decision.ts";
import type { Verb } from "../store.ts";
import type { Mark } from "../receipts/receipt.ts";
import { marking } from "./reserve.ts";
import { givingBack } from "./settle.ts";

/** The request of an attempt. */
export interface AttemptArgument {
  /** Units to take. */
  readonly cost: number;
  /** The longest delay before the start, in milliseconds; may be `Infinity`. */
  readonly maxDelay: number;
  /** A random number of at least 1, for a reservable key without open receipts. */
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
  readonly mark: Mark | undefined;
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
  name: "acquire",
  kind: "take",
  units: ({ cost }: AttemptArgument) => cost,
  on(algorithm: Algorithm) {
    requireNoPermits("acquire", algorithm);
    const split = splitReducer(algorithm);
    const delays = mayDelay(algorithm);
    const { take, decide } = split;
    const receipts = algorithm.internals?.receipts;
    const markOf = marking(algorithm);

    return {
      next(state: unknown, now: number, { cost, maxDelay, id }: AttemptArgument) {
        const next = take(state, now, cost);
        if (next === state) return state;
        if (delays && decide(state, next, now, cost).delay > maxDelay) return state;
        return receipts === undefined ? next : receipts.issue(next, now, id);
      },
      answer(state: unknown, next: unknown, now: number, argument: AttemptArgument): Attempt {
        const { cost } = argument;
        const isTaken = next !== state;
        const admitted = decide(state, isTaken ? next : take(state, now, cost), now, cost);
        const decision = isTaken ? admitted : withMaxDelay(split, state, now, argument, admitted);
        const refusedState = decision.allowed
          ? undefined
          : { state: detachState(algorithm, state), at: now };
        const mark = isTaken ? markOf(next, now) : undefined;
        return { decision, sight: { refusedState, at: now, mark } };
      },
    };
  },
  decisionOf: ({ decision }: Attempt) => decision,
  answerOf: (decision: Decision, answer?: Attempt) => ({
    decision,
    sight: decision.source === "policy" ? undefined : answer?.sight,
  }),
  transition: (algorithm: Algorithm) =>
    algorithm.internals?.receipts === undefined && !mayDelay(algorithm) ? "take" : undefined,
  undo: ({ cost }: AttemptArgument, answer: Attempt | undefined) =>
    answer && givingBack(cost, answer.decision, answer.sight?.mark),
});

/** The refusal of a call that would start too late. Its `retryAfter` is the delay. */
function withMaxDelay(
  { decide }: SplitReducer<unknown>,
  state: unknown,
  now: number,
  { maxDelay }: AttemptArgument,
  decision: Decision,
): Decision {
  if (!decision.allowed || decision.delay <= maxDelay) return decision;
  const look = decide(state, state, now, 0);
  return { ...look, allowed: false, retryAfter: decision.delay };
}
