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
/** The level of a key that has nothing left; debt is above it. */
export const USED_UP = 8;

/**
 * The most that a key takes off at each level: `level` eighths are in use, and the rest is left. A
 * fraction has ten bits at least, so that half a bit more is allowed for.
 */
const MOST_OFF: readonly number[] = Array.from(
  { length: LEVELS },
  (_, level) =>
    level > USED_UP ? NOTHING_LEFT / 2 : NOTHING_LEFT + ALL_LEFT * (1 - level / USED_UP) + 2 ** -11,
);

/** The fields of a decision that say how fresh its key is; every `Decision` has them. */
type Leaving = Pick<Decision, "resetAfter" | "remaining" | "debt" | "parts">;

/** The capacity of an algorithm, and those of its parts: read at each call, so in one shape for all. */
export interface Capacities {
  readonly capacity: number;
  readonly parts: readonly Capacities[];
}

/** The capacities of an algorithm. */
export function capacitiesOf({ capacity, internals }: Algorithm): Capacities {
  return { capacity, parts: (internals?.parts ?? []).map(capacitiesOf) };
}

/** Keeps the share that is left of a capacity with a whole instant, for a key without debt. */
export function withShareLeft(freshAt: number, remaining: number, capacity: number): number {
  return freshAt - (NOTHING_LEFT + ALL_LEFT * remaining / capacity);
}

/**
 * When a key is fresh after a decision of an algorithm, with the share of its capacity left.
 *
 * @param kept For how long its state is to be kept: longer than until it is fresh if it has notes.
 */
export function freshInstant(
  now: number,
  decision: Leaving,
  { capacity, parts: capacities }: Capacities,
  kept: number = decision.resetAfter,
): number {
  const { parts } = decision;
  const freshAt = Math.ceil(now + kept);
  const share = decision.remaining / capacity;
  const least = parts === undefined ? share : leastShare(share, parts, capacities);
  const instant = freshAt - (NOTHING_LEFT + ALL_LEFT * least);
  return decision.debt <= 0 && instant > freshAt - 1 && instant < freshAt
    ? instant
    : withoutShare(freshAt);
}

/** The least share that a part of `all` has left. */
function leastShare(
  share: number,
  parts: readonly Leaving[],
  capacities: readonly Capacities[],
): number {
  let least = share;
  const count = Math.min(parts.length, capacities.length);
  for (let index = 0; index < count; index++) {
    const { remaining, parts: further } = parts[index]!;
    const { capacity, parts: below } = capacities[index]!;
    const own = remaining / capacity;
    const left = further === undefined ? own : leastShare(own, further, below);
    if (left < least) least = left;
  }
  return least;
}

/** An instant that protects its key: it is in debt, or somebody's own algorithm does not know. */
function withoutShare(freshAt: number): number {
  return Number.isNaN(freshAt) ? Infinity : freshAt;
}

/**
 * Whether a call that left so much must be noted at once: the key is used up, or no longer is.
 */
export function leavesUsedUp(remaining: number, level: number): boolean {
  return remaining === 0 ? level !== USED_UP : level >= USED_UP;
}

/** The level of use that an instant carries, from 0, with more than seven eighths left, to 9. */
export function levelOf(freshAt: number): number {
  const off = Math.ceil(freshAt) - freshAt;
  let level = 0;
  while (level <= USED_UP && off <= MOST_OFF[level + 1]!) level++;
  return off >= 0 ? level : USED_UP + 1;
}
