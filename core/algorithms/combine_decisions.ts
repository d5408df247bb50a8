/*
 * Combines the decisions of several limits into one. `all`, `consumeAll` and rules use it, so that
 * each gives the same answer to the same parts.
 */

import type { Decision } from "../decision.ts";
import { makeDecision } from "../make_decision.ts";

/**
 * The decision of several limits together.
 *
 * `remaining` is the smallest of the parts', and `limit` is the limit of the first part with that
 * `remaining`. `retryAfter`, `resetAfter`, `delay` and `debt` are the largest of the parts'.
 * `nextAfter` is the largest among the parts with the least remaining, because one more unit is
 * free only once all of these parts have grown; it is 0 at capacity.
 *
 * @param parts At least one.
 * @param capacity The largest cost that all of them could admit when fresh.
 */
export function combineDecisions(parts: readonly Decision[], capacity: number): Decision {
  let least = parts[0]!;
  let { allowed, retryAfter, nextAfter, resetAfter, delay, debt, source } = least;
  for (let index = 1; index < parts.length; index++) {
    const part = parts[index]!;
    if (part.remaining < least.remaining) {
      least = part;
      nextAfter = part.nextAfter;
    } else if (part.remaining === least.remaining && part.nextAfter > nextAfter) {
      nextAfter = part.nextAfter;
    }
    if (part.retryAfter > retryAfter) retryAfter = part.retryAfter;
    if (part.resetAfter > resetAfter) resetAfter = part.resetAfter;
    if (part.delay > delay) delay = part.delay;
    if (part.debt > debt) debt = part.debt;
    allowed = allowed && part.allowed;
    source ??= part.source;
  }
  return makeDecision(
    allowed,
    least.limit,
    least.remaining,
    retryAfter,
    least.remaining >= capacity ? 0 : nextAfter,
    resetAfter,
    delay,
    debt,
    source,
    parts,
  );
}
