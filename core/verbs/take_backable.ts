/*
 * Takes units as `consume` does, and answers with a mark by which the units of this very call are found
 * again. A reservable key keeps the call open, so that its receipt can be settled from anywhere. With
 * any other algorithm, only the process that made the call may give its units back, once.
 */

import type { Algorithm } from "../algorithm.ts";
import { requireNoPermits } from "../algorithms/holds_permits.ts";
import { mayDelay } from "../algorithms/may_delay.ts";
import { splitReducer } from "../algorithms/split_reducer.ts";
import type { Decision } from "../decision.ts";
import { typeError } from "../options/checks.ts";
import type { Mark } from "../receipts/receipt.ts";
import type { Verb } from "../store.ts";
import { givingBack } from "./settle.ts";
import { startInTime } from "./start_in_time.ts";

/** The request of a reservation. */
export interface ReserveArgument {
  /** Units to take. */
  readonly cost: number;
  /** A random number of at least 1, for a key without open receipts. */
  readonly id: number;
  /**
   * The longest delay before the start, in milliseconds: a call that would start later is refused.
   * Without it, every delay is accepted.
   */
  readonly maxDelay?: number | undefined;
}

/** The answer to a reservation. */
export interface Reserved {
  /** The decision. */
  readonly decision: Decision;
  /**
   * Finds the units again; `undefined` if the call was refused, a failure policy answered, or the
   * algorithm cannot give units back.
   */
  readonly mark: Mark | undefined;
}

/** Takes units and leaves a receipt in the key, whose algorithm must be reservable. */
export const reserve: Verb<ReserveArgument, Reserved> = reserving(true);

/** Takes units that this process may give back. It leaves a receipt only in a reservable key. */
export const takeBackable: Verb<ReserveArgument, Reserved> = reserving(false);

function reserving(needsReceipts: boolean): Verb<ReserveArgument, Reserved> {
  return Object.freeze({
    name: "reserve",
    kind: "take",
    units: ({ cost }: ReserveArgument) => cost,
    on(algorithm: Algorithm) {
      requireNoPermits("reserve", algorithm);
      const { take, decide } = splitReducer(algorithm);
      const receipts = algorithm.internals?.receipts;
      if (receipts === undefined && needsReceipts) {
        const rule = "its algorithm must be reservable(...), as in reservable(gcra({ ... }))";
        throw typeError("reserve", rule, algorithm.id);
      }
      const markOf = marking(algorithm);
      const delays = mayDelay(algorithm);
      return {
        next(state: unknown, now: number, { cost, id, maxDelay = Infinity }: ReserveArgument) {
          const next = take(state, now, cost);
          if (next === state && cost > 0) return state;
          if (delays && decide(state, next, now, cost).delay > maxDelay) return state;
          return receipts === undefined ? next : receipts.issue(next, now, id);
        },
        answer(
          state: unknown,
          next: unknown,
          now: number,
          { cost, maxDelay = Infinity }: ReserveArgument,
        ) {
          if (next !== state) {
            return { decision: decide(state, next, now, cost), mark: markOf(next, now) };
          }
          const decision = delays
            ? startInTime(algorithm, state, now, cost, maxDelay)
            : decide(state, state, now, cost);
          return { decision, mark: undefined };
        },
      };
    },
    decisionOf: ({ decision }: Reserved) => decision,
    answerOf: (decision: Decision, answer?: Reserved) => ({
      decision,
      mark: decision.source === "policy" ? undefined : answer?.mark,
    }),
    transition: (algorithm: Algorithm) =>
      algorithm.internals?.receipts === undefined && !mayDelay(algorithm) ? "take" : undefined,
    undo: ({ cost }: ReserveArgument, answer: Reserved | undefined) =>
      answer && givingBack(cost, answer.decision, answer.mark),
  });
}

/** Makes the function that finds the units of the call that left a state. */
function marking(
  { internals }: Algorithm,
): (next: unknown, now: number) => Mark | undefined {
  const { receipts, returns } = internals ?? {};
  if (receipts !== undefined) return receipts.newest;
  if (returns === undefined) return () => undefined;
  return (next) => ({ id: 0, number: 0, until: 0, marks: returns.mark(next) });
}
