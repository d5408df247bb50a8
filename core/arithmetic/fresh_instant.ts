/*
 * Two facts in one number: when a key is fresh, and how much of its capacity its last call left. A
 * store that is full needs the second to choose whom it forgets, and has no room for one more number
 * in each slot.
 *
 * Instants are whole. So the share that is left rides in the fraction below one: an instant of 1,000
 * is kept as 1,000 less a sixteenth if nothing is left, less nearly fifteen if nearly all is, and as
 * 1,000 itself if the key is in debt. No comparison with a whole instant sees the difference. An
 * instant too large for a fraction reads as debt, which protects its key; no call comes so late.
 */

import type { Algorithm } from "../algorithm.ts";
import type { Decision } from "../decision.ts";

/** The fraction that a key without debt takes off when nothing is left. */
const NOTHING_LEFT = 1 / 16;
/** How much more it takes off for a whole capacity: what remains below 1 is never rounded to it. */
const ALL_LEFT = 14 / 16;

/** How many levels of use there are: eight by eighths of the capacity, nothing left, and debt. */
export const LEVELS = 10;
/** The level of a key of which nothing is left; debt is above it. */
export const USED_UP = 8;

/** What a decision must say of a key: every `Decision` does. */
type Leaving = Pick<Decision, "resetAfter" | "remaining" | "debt" | "parts">;
/** What is asked of an algorithm: its capacity, and those of its parts. */
type Capacities = Pick<Algorithm, "capacity" | "internals">;

/** Keeps the share that is left of a capacity with a whole instant, for a key without debt. */
export function withShareLeft(freshAt: number, remaining: number, capacity: number): number {
  return freshAt - (NOTHING_LEFT + ALL_LEFT * remaining / capacity);
}

/** When a key is fresh after a decision of an algorithm, with the share of its capacity left. */
export function freshInstant(now: number, decision: Leaving, algorithm: Capacities): number {
  const freshAt = Math.ceil(now + decision.resetAfter);
  // Somebody's own algorithm may not know: then its keys are held while there is room.
  if (Number.isNaN(freshAt)) return Infinity;
  const share = shareLeft(decision, algorithm);
  return decision.debt <= 0 && share >= 0 && share <= 1
    ? withShareLeft(freshAt, share, 1)
    : freshAt;
}

/** The share of its capacity that a call left; of `all` the least that one of its parts has left. */
function shareLeft({ remaining, parts }: Leaving, { capacity, internals }: Capacities): number {
  if (parts === undefined) return remaining / capacity;
  let least = remaining / capacity;
  for (let index = 0; index < parts.length; index++) {
    const algorithm = internals?.parts?.[index];
    if (algorithm === undefined) continue;
    const share = shareLeft(parts[index]!, algorithm);
    if (share < least) least = share;
  }
  return least;
}

/** The level of use that an instant carries, from 0, with more than seven eighths left, to 9. */
export function levelOf(freshAt: number): number {
  const off = Math.ceil(freshAt) - freshAt;
  if (!(off > NOTHING_LEFT / 2)) return USED_UP + 1;
  const used = USED_UP * (1 - (off - NOTHING_LEFT) / ALL_LEFT);
  // A fraction has ten bits at least.
  return used > USED_UP - 0.02 ? USED_UP : Math.max(0, Math.floor(used));
}
