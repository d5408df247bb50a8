/*
 * States that no call can have led to yet, because the clock by which they were written was set
 * back since: by a failover to a server with a slow clock, or because it was wrong. If such a state
 * were taken as it is, its key would be refused until the clock has caught up.
 *
 * Only a store whose processes all go by one clock can tell. If each goes by its own, a faster
 * clock may have written such a state.
 */

import type { Algorithm } from "./algorithm.ts";
import { splitReducer } from "./algorithms/split_reducer.ts";
import { isNoted, withNotes } from "./receipts/noted.ts";

/** Milliseconds that processes may differ by in the time of one server. */
export const MOST_AHEAD = 5_000;

/**
 * The most milliseconds that a state of an algorithm is from being fresh, unless it is in debt;
 * `Infinity` if that is not known. A state within it does not need the functions below.
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
 * Bounds a state that is not in debt to one that calls can have led to by now: a state that is too
 * far ahead becomes the furthest of these, that of a key without free units. Any other is returned
 * as it is.
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
