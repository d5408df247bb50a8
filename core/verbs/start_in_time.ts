/*
 * The decision about a call that must start within a time. Its refusal says when a place is free that is
 * early enough. If the queue is full, that is later than its next free place.
 */

import type { Algorithm } from "../algorithm.ts";
import { splitReducer } from "../algorithms/split_reducer.ts";
import type { Decision } from "../decision.ts";
import { LAST_INSTANT } from "../options/checks.ts";

/**
 * The decision about a call that took nothing. A refusal's `retryAfter` counts to the first millisecond
 * at which the call would be admitted and start within `maxDelay`, if nothing else happens. A part of
 * an `all` that would delay the call for longer counts as refusing.
 *
 * @param units The cost of the call.
 * @param maxDelay The longest delay, in milliseconds; may be `Infinity`.
 */
export function startInTime(
  algorithm: Algorithm,
  state: unknown,
  now: number,
  units: number,
  maxDelay: number,
): Decision {
  const [first] = algorithm.step(state, now, units);
  if (maxDelay === Infinity || (first.allowed && first.delay <= maxDelay)) return first;
  const { decide } = splitReducer(algorithm);
  const refused = first.allowed
    ? { ...decide(state, state, now, 0), allowed: false, retryAfter: first.delay }
    : first;
  const wait = first.retryAfter;
  if (!(now + wait <= LAST_INSTANT)) return refused;
  const [admitted] = first.allowed ? [first] : algorithm.step(state, now + wait, units);
  return untilInTime(refused, admitted, wait, Math.floor(maxDelay));
}

/**
 * A refusal that ends when a place is early enough. Delays are whole milliseconds, and each
 * millisecond of waiting shortens them by one.
 */
function untilInTime(
  refused: Decision,
  admitted: Decision,
  wait: number,
  maxDelay: number,
): Decision {
  if (admitted.delay <= maxDelay) return refused;
  const parts = refused.parts?.map((part, index) => {
    const then = admitted.parts?.[index];
    return then === undefined ? part : untilInTime(part, then, wait, maxDelay);
  });
  const retryAfter = wait + admitted.delay - maxDelay;
  return { ...refused, allowed: false, retryAfter, parts };
}
