/*
 * The refusal of a request that would start too late. Callers in this process learn when the start
 * would have been. A client over HTTP needs another instant: the first one at which a request would
 * get a place that is early enough. If the queue is full, that is later than its next free place.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import type { Decision } from "../../../core/decision.ts";
import { LAST_INSTANT } from "../../../core/options/checks.ts";
import type { Attempt } from "../../../core/verbs/attempt.ts";

/**
 * The answer to an attempt. A refusal's `retryAfter` counts to the first millisecond at which the
 * call would be admitted and start within `maxDelay`, if nothing else happens. A part of an `all`
 * that would delay the call for longer counts as refusing.
 *
 * @param units The cost of the call.
 * @param maxDelay The longest delay, in milliseconds; may be `Infinity`.
 */
export function startInTime(
  algorithm: Algorithm,
  answer: Attempt,
  units: number,
  maxDelay: number,
): Attempt {
  const { decision, sight } = answer;
  const seen = sight?.refusedState;
  // Without the state, a failure policy has refused.
  if (seen === undefined || decision.allowed || maxDelay === Infinity) return answer;
  const [first] = algorithm.step(seen.state, seen.at, units);
  const wait = first.retryAfter;
  if (!(seen.at + wait <= LAST_INSTANT)) return answer;
  const [admitted] = first.allowed ? [first] : algorithm.step(seen.state, seen.at + wait, units);
  return { decision: untilInTime(decision, admitted, wait, Math.floor(maxDelay)), sight };
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
