/*
 * Decisions that are answered again later: a refusal from a cache, the decision of a leased block.
 */

import type { Decision } from "../../core/decision.ts";

/**
 * A decision some milliseconds later, as far as it is known without the state: waits are shorter,
 * and what remains, of each part too, may be known to be more.
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

/** The rest of a wait; never 0, because that would say that it is over. */
function sooner(wait: number, milliseconds: number): number {
  return wait === 0 ? 0 : Math.max(1, Math.ceil(wait - milliseconds));
}
