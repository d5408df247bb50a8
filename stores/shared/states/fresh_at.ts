/*
 * When a key is fresh again, and how much of its capacity its last write left, in one number. Instants
 * are whole milliseconds, so the fraction below one is free:
 *
 *   x <= now        the key is fresh
 *   ceil(x) - x     0 in debt; 1/32 nothing left; 2/32 to 10/32 units left, by eighths of the capacity
 *
 * A full store forgets the key with the most left. The fraction is less than a half, so an instant too
 * large for fractions is rounded to itself, never to the one before: such a key counts as in debt.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import type { Decision } from "../../../core/decision.ts";

/** The result of `leftOf` for a key that is used up; for a key in debt the result is smaller. */
export const NOTHING_LEFT = 1;
/** The steps of a millisecond. */
export const STEPS = 32;

/** The whole that a decision's units are a share of. */
export interface ShareScale {
  /** Eighths of the capacity in a unit. */
  readonly perUnit: number;
  /** The shares of the parts (`all`). */
  readonly parts: readonly ShareScale[] | undefined;
}

/** The shares of an algorithm's units. */
export function shareScaleOf({ capacity, internals }: Algorithm): ShareScale {
  return { perUnit: 8 / capacity, parts: internals?.parts?.map(shareScaleOf) };
}

/**
 * The steps that go off the instant at which a key is fresh, for the share of its capacity that a
 * decision says is left. A small whole number, because engines allocate fractions that a function
 * returns.
 */
export function stepsLeft(decision: Decision, shares: ShareScale): number {
  if (decision.debt > 0) return 0;
  const left = shares.parts === undefined
    ? decision.remaining * shares.perUnit
    : leastLeft(decision, shares);
  return left > 0 ? 2 + (left | 0) : NOTHING_LEFT;
}

/** When a key is fresh, with the share of its capacity that a decision says is left. */
export function freshAtWith(freshAt: number, decision: Decision, shares: ShareScale): number {
  return freshAt - stepsLeft(decision, shares) / STEPS;
}

/** How much of a key its last write left: a whole number that only compares. */
export function leftOf(freshAt: number): number {
  return ((Math.ceil(freshAt) - freshAt) * STEPS) | 0;
}

/** Eighths that are left of the part that has the least. */
function leastLeft(
  { remaining, parts: decisions }: Decision,
  { perUnit, parts }: ShareScale,
): number {
  if (parts === undefined || decisions === undefined) return remaining * perUnit;
  let least = Infinity;
  for (let index = 0; index < parts.length; index++) {
    const left = leastLeft(decisions[index]!, parts[index]!);
    if (left < least) least = left;
  }
  return least;
}
