import type { Decision } from "./decision.ts";
import { decisionOf } from "./decision_of.ts";

/**
 * The decision of several limits together, of each one's own: what `all` and `consumeAll` answer.
 *
 * `remaining` is the smallest, `limit` that of the first with the least remaining; `retryAfter`,
 * `resetAfter` and `delay` are the largest. One unit more is free when each part with the least
 * remaining has grown; at capacity it never is.
 *
 * @param parts At least one.
 * @param capacity The largest cost that all of them could admit when fresh.
 */
export function combine(parts: readonly Decision[], capacity: number): Decision {
  const least = parts.reduce((a, b) => b.remaining < a.remaining ? b : a);
  let allowed = true;
  let retryAfter = 0;
  let nextAfter = 0;
  let resetAfter = 0;
  let delay = 0;
  for (const part of parts) {
    allowed = allowed && part.allowed;
    retryAfter = Math.max(retryAfter, part.retryAfter);
    resetAfter = Math.max(resetAfter, part.resetAfter);
    delay = Math.max(delay, part.delay);
    if (part.remaining === least.remaining) nextAfter = Math.max(nextAfter, part.nextAfter);
  }
  return decisionOf(
    allowed,
    least.limit,
    least.remaining,
    retryAfter,
    least.remaining >= capacity ? 0 : nextAfter,
    resetAfter,
    delay,
    parts.find((part) => part.source !== undefined)?.source,
    parts,
  );
}
