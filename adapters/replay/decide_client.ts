/*
 * Decides one client's requests by one algorithm, without a store. It steps states only, and makes
 * a decision only where one is needed, because a log can have millions of requests.
 */

import { mayDelay, splitReducer } from "../../core/application_support.ts";
import type { Algorithm } from "../../mod.ts";
import type { ClientRequests } from "./log/trace.ts";

/** The outcome of one client's requests under one limit. */
export interface Tally {
  denied: number;
  deniedUnits: number;
  delayed: number;
  delay: number;
  /** The instant of its first refusal in a row; -1 if its last request was admitted. */
  since: number;
  /** When the client may come again, according to its last refusal. */
  until: number;
  /** Its longest lock-out: milliseconds. */
  lockOut: number;
}

/** Makes the tally of a client without requests. */
export function emptyTally(): Tally {
  return { denied: 0, deniedUnits: 0, delayed: 0, delay: 0, since: -1, until: 0, lockOut: 0 };
}

/** Records a refusal. */
export function addRefusal(tally: Tally, now: number, cost: number, retryAfter: number): void {
  tally.denied++;
  tally.deniedUnits += cost;
  if (now >= tally.until) endLockOut(tally, now);
  if (tally.since < 0) tally.since = now;
  tally.until = now + retryAfter;
}

/** Ends a lock-out. Time that the client stays away for longer than it had to does not count. */
export function endLockOut(tally: Tally, now: number): void {
  if (tally.since < 0) return;
  tally.lockOut = Math.max(tally.lockOut, Math.min(now, tally.until) - tally.since);
  tally.since = -1;
}

/** Decides a client's requests. */
export interface ClientDecider {
  /** Decides all requests. Writes 1 into `verdicts` for each one that is refused, else 0. */
  decide(requests: ClientRequests, verdicts: Uint8Array): Tally;
  /** How many requests are refused; it stops counting at `most`. */
  refusals(requests: ClientRequests, most: number): number;
}

/** Makes the decider of an algorithm: a fold of its reducer. */
export function clientDecider(algorithm: Algorithm): ClientDecider {
  const { initial, capacity } = algorithm;
  // A log has no receipts, so neither has a state.
  const { take, decide } = splitReducer(algorithm);
  const delays = mayDelay(algorithm);
  return {
    decide({ at, cost }, verdicts) {
      const tally = emptyTally();
      let state = initial;
      for (let row = 0; row < at.length; row++) {
        const now = at[row]!;
        const units = cost === undefined ? 1 : cost[row]!;
        const next = take(state, now, units);
        // The state is the same after a refusal, but also under an algorithm without a state.
        const refusal = next === state ? decide(state, next, now, units) : undefined;
        if (refusal !== undefined && !refusal.allowed) {
          verdicts[row] = 1;
          addRefusal(tally, now, units, refusal.retryAfter);
          continue;
        }
        verdicts[row] = 0;
        if (tally.since >= 0) endLockOut(tally, now);
        if (delays) {
          const { delay } = decide(state, next, now, units);
          if (delay > 0) tally.delayed++;
          tally.delay += delay;
        }
        state = next;
      }
      endLockOut(tally, Infinity);
      return tally;
    },
    refusals({ at, cost }, most) {
      // A client that takes no more in total than a fresh key admits at once is never refused.
      if (cost === undefined && at.length <= capacity) return 0;
      let state = initial;
      let refused = 0;
      for (let row = 0; row < at.length && refused < most; row++) {
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
