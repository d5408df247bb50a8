/*
 * States that lie too far in the future, because the clock that wrote them has been set back since
 * then: by a failover to a server with a slow clock, or by a correction. If a store used such a
 * state unchanged, its key would be refused until the clock has caught up.
 *
 * Only a store whose processes all use one clock can recognize such a state. If each process uses
 * its own clock, a faster clock may have written the state.
 */

import type { Algorithm } from "./algorithm.ts";
import { splitReducer } from "./algorithms/split_reducer.ts";

/** The milliseconds by which processes may differ in their estimate of one server's time. */
export const MOST_AHEAD = 5_000;

/**
 * The most milliseconds until a state is fresh that is not too far ahead; `Infinity` if that is not
 * known. A state that is fresh sooner does not need the functions below.
 */
export function longestReset(algorithm: Algorithm): number {
  const { parts, wraps, furthest } = algorithm.internals ?? {};
  if (wraps !== undefined) return longestReset(wraps.inner);
  if (parts !== undefined) return Math.max(...parts.map(longestReset));
  if (furthest === undefined) return Infinity;
  // The wait is longest at the beginning of a window, which is the end of the window before it.
  const now = resetOf(algorithm, furthest(0), 0);
  return Math.max(now, resetOf(algorithm, furthest(now), now));
}

/**
 * Whether a state, or a part of it, is further ahead than the furthest state: because of a large
 * burst or a debt, or because its clock was set back.
 *
 * @param by Ignores leads of at most so many milliseconds.
 */
export function isAhead(algorithm: Algorithm, state: unknown, now: number, by: number): boolean {
  const { parts, wraps, furthest } = algorithm.internals ?? {};
  if (wraps !== undefined) return isAhead(wraps.inner, wraps.innerOf(state), now, by);
  if (parts !== undefined) {
    const states = state as readonly unknown[];
    return parts.some((part, index) => isAhead(part, states[index], now, by));
  }
  if (furthest === undefined) return false;
  // With a refill at intervals, the distance to the next refill varies.
  const longest = Math.max(longestReset(algorithm), resetOf(algorithm, furthest(now), now));
  return resetOf(algorithm, state, now) > longest + by;
}

/**
 * Bounds a state without a mark to the states that calls can have led to by now. A state that is too
 * far ahead becomes the furthest of these: the state of a key without free units. Any other state
 * is returned as it is.
 */
export function boundedState(algorithm: Algorithm, state: unknown, now: number): unknown {
  if (!isAhead(algorithm, state, now, MOST_AHEAD)) return state;
  const { parts, wraps, full } = algorithm.internals!;
  if (wraps !== undefined) {
    return wraps.withInner(state, boundedState(wraps.inner, wraps.innerOf(state), now));
  }
  if (parts === undefined) return full!(now);
  return parts.map((part, index) => boundedState(part, (state as readonly unknown[])[index], now));
}

function resetOf(algorithm: Algorithm, state: unknown, now: number): number {
  return splitReducer(algorithm).decide(state, state, now, 0).resetAfter;
}
