/*
 * States that no call could have led to by now, because the clock that they were written by was set back
 * since: a failover to a server whose clock is slow, a clock that was wrong. Taken as they are, a key
 * would be refused until that clock has caught up.
 *
 * Only a store whose processes all go by one clock can say so. If each goes by its own, the same state
 * is what a faster clock has written.
 */

import type { Algorithm } from "./algorithm.ts";
import { splitReducer } from "./algorithms/split_reducer.ts";
import { isNoted, withNotes } from "./receipts/noted.ts";

/** Milliseconds that processes may differ by in the time of one server. */
export const MOST_AHEAD = 5_000;

/**
 * The most milliseconds that a state of an algorithm is from being fresh, unless it is in debt;
 * `Infinity` where nobody knows. What is not above it has no need of the functions below.
 */
export function longestReset(algorithm: Algorithm): number {
  const { parts, furthest } = algorithm.internals ?? {};
  if (parts !== undefined) return Math.max(...parts.map(longestReset));
  if (furthest === undefined) return Infinity;
  // Longest of all at the beginning of a window, which is where the one before it ends.
  const now = resetOf(algorithm, furthest(0), 0);
  return Math.max(now, resetOf(algorithm, furthest(now), now));
}

/**
 * Whether a state, or a part of it, is further ahead than free units can bring it: one in debt, or one
 * whose clock was set back.
 *
 * @param by By more than so many milliseconds.
 */
export function isAhead(algorithm: Algorithm, state: unknown, now: number, by: number): boolean {
  const plain = isNoted(state) ? state.state : state;
  const { parts, furthest } = algorithm.internals ?? {};
  if (parts !== undefined) {
    const states = plain as readonly unknown[];
    return parts.some((part, index) => isAhead(part, states[index], now, by));
  }
  if (furthest === undefined) return false;
  // A refill at intervals is nearer or further away.
  const longest = Math.max(longestReset(algorithm), resetOf(algorithm, furthest(now), now));
  return resetOf(algorithm, plain, now) > longest + by;
}

/**
 * A state that is not in debt, as one that calls can have led to by now: one that is too far ahead is
 * taken for the furthest of these, which is a key without free units. Any other is returned as it is.
 */
export function boundedState(algorithm: Algorithm, state: unknown, now: number): unknown {
  if (!isAhead(algorithm, state, now, MOST_AHEAD)) return state;
  if (isNoted(state)) {
    return withNotes(boundedState(algorithm, state.state, now), state.back, state.entries);
  }
  const { parts, furthest } = algorithm.internals!;
  if (parts === undefined) return furthest!(now);
  return parts.map((part, index) => boundedState(part, (state as readonly unknown[])[index], now));
}

function resetOf(algorithm: Algorithm, state: unknown, now: number): number {
  return splitReducer(algorithm).decide(state, state, now, 0).resetAfter;
}
