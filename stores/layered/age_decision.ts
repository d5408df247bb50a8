/*
 * Decisions that are given again later: a refusal from a cache, or the decision about a leased block.
 */

import type { Decision } from "../../core/decision.ts";

/**
 * A decision some milliseconds later, without a look at the state. Waits are shorter, and the
 * remaining units, of each part as well, may be known to be more.
 */
export function ageDecision(
  decision: Decision,
  milliseconds: number,
  remainingOf: (remaining: number) => number = (remaining) => remaining,
): Decision {
  return {
    ...decision,
    remaining: remainingOf(decision.remaining),
    retryAfter: sooner(decision.retryAfter, milliseconds),
    nextAfter: sooner(decision.nextAfter, milliseconds),
    resetAfter: sooner(decision.resetAfter, milliseconds),
    parts: decision.parts?.map((part) => ageDecision(part, milliseconds, remainingOf)),
  };
}

/** The rest of a wait. It is never 0, because that would mean that the wait is over. */
function sooner(wait: number, milliseconds: number): number {
  return wait === 0 ? 0 : Math.max(1, Math.ceil(wait - milliseconds));
}
