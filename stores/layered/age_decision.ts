/*
 * Decisions that are answered again later: a refusal from a cache, the decision of a leased block.
 */

import type { Decision } from "../../core/decision.ts";
import { makeDecision } from "../../core/make_decision.ts";

/**
 * A decision some milliseconds later, as far as it is known without the state: waits are shorter,
 * and what remains may be known to be more.
 */
export function ageDecision(
  decision: Decision,
  milliseconds: number,
  remaining: number = decision.remaining,
): Decision {
  const { allowed, limit, retryAfter, nextAfter, resetAfter, delay, debt, source, parts } =
    decision;
  return makeDecision(
    allowed,
    limit,
    remaining,
    sooner(retryAfter, milliseconds),
    sooner(nextAfter, milliseconds),
    sooner(resetAfter, milliseconds),
    delay,
    debt,
    source,
    parts?.map((part) => ageDecision(part, milliseconds)),
  );
}

/** What is left of a wait; never 0, as that would say that it is over. */
function sooner(wait: number, milliseconds: number): number {
  return wait === 0 ? 0 : Math.max(1, Math.ceil(wait - milliseconds));
}
