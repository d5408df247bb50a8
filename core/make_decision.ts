import type { Decision } from "./decision.ts";

/**
 * Builds a decision. Every decision is made here, so that all of them share one hidden class and
 * the fields keep their order.
 */
export function makeDecision(
  allowed: boolean,
  limit: number,
  remaining: number,
  retryAfter: number,
  nextAfter: number,
  resetAfter: number,
  delay: number,
  debt: number,
  source?: Decision["source"],
  parts?: Decision["parts"],
): Decision {
  return {
    allowed,
    limit,
    remaining,
    retryAfter,
    nextAfter,
    resetAfter,
    delay,
    debt,
    source,
    parts,
  };
}

/**
 * Shows the engine, before the first real decision, that the numeric fields may hold anything.
 *
 * V8 first guesses small integers. When an `Infinity` or a large duration then comes, it gives the
 * field a box of its own and marks the old shape as outdated; code compiled in between goes on
 * making outdated objects and mends each of them at run time: 430 ns for a decision in place of
 * 120, for as long as the process lives (measured on V8 13.6 and 15.0). A field that has once held
 * something other than a number is never guessed about.
 */
export function fixDecisionShape(): void {
  (makeDecision as (allowed: boolean) => Decision)(false);
}
