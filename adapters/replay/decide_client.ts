import { mayDelay, splitReducer } from "../../core/toolkit.ts";
import type { Algorithm } from "../../mod.ts";
import { addRefusal, endLockOut, type LockOut, noLockOut } from "./lock_out.ts";

/** What became of one client's requests under one limit. */
export interface Tally {
  denied: number;
  deniedUnits: number;
  delayed: number;
  delay: number;
  readonly lockOut: LockOut;
}

/** Decides a client's requests: those of the rows `from` to `to`, which are in order of time. */
export interface ClientDecider {
  /** Says in `verdicts`, for each row counted from `from`, whether it is refused: 1, else 0. */
  decide(
    at: Float64Array,
    cost: Float64Array | undefined,
    from: number,
    to: number,
    verdicts: Uint8Array,
  ): Tally;
  /** How many of them are refused; counts no further than `most`. */
  refusals(
    at: Float64Array,
    cost: Float64Array | undefined,
    from: number,
    to: number,
    most: number,
  ): number;
}

/** Makes the decider of an algorithm: a fold of its reducer. */
export function clientDecider(algorithm: Algorithm): ClientDecider {
  const { initial, capacity } = algorithm;
  const { take, decide } = splitReducer(algorithm);
  const delays = mayDelay(algorithm);
  return {
    decide(at, cost, from, to, verdicts) {
      const tally = { denied: 0, deniedUnits: 0, delayed: 0, delay: 0, lockOut: noLockOut() };
      const { lockOut } = tally;
      let state = initial;
      for (let row = from; row < to; row++) {
        const now = at[row]!;
        const units = cost === undefined ? 1 : cost[row]!;
        const next = take(state, now, units);
        // A refusal changes nothing; nor does an algorithm that keeps nothing.
        const refusal = next === state ? decide(state, next, now, units) : undefined;
        if (refusal !== undefined && !refusal.allowed) {
          verdicts[row - from] = 1;
          tally.denied++;
          tally.deniedUnits += units;
          addRefusal(lockOut, now, refusal.retryAfter);
          continue;
        }
        verdicts[row - from] = 0;
        if (lockOut.since >= 0) endLockOut(lockOut, now);
        if (delays) {
          const { delay } = decide(state, next, now, units);
          if (delay > 0) tally.delayed++;
          tally.delay += delay;
        }
        state = next;
      }
      endLockOut(lockOut, Infinity);
      return tally;
    },
    refusals(at, cost, from, to, most) {
      // Nobody is refused who takes no more, all in all, than a fresh key admits at once.
      if (cost === undefined && to - from <= capacity) return 0;
      let state = initial;
      let refused = 0;
      for (let row = from; row < to && refused < most; row++) {
        const now = at[row]!;
        const units = cost === undefined ? 1 : cost[row]!;
        const next = take(state, now, units);
        if (next === state && !decide(state, next, now, units).allowed) refused++;
        state = next;
      }
      return refused;
    },
  };
}
