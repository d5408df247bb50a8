/*
 * One number for the instant at which a key is fresh again, and for the share of its capacity that
 * its last write left. Instants are whole milliseconds, so the fraction is free:
 *
 *   x <= now        the key is fresh
 *   ceil(x) - x     0 in debt; 1/32 nothing left; 2/32 to 10/32 units left, by eighths of the capacity
 *
 * A full store forgets the key with the most left. The fraction is less than a half. So an instant
 * that is too large for fractions is rounded to itself, never to the instant before, and its key
 * counts as in debt.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import { partsOf } from "../../../core/algorithms/parts_of.ts";
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
export function shareScaleOf(algorithm: Algorithm): ShareScale {
  return { perUnit: 8 / algorithm.capacity, parts: partsOf(algorithm)?.map(shareScaleOf) };
}

/**
 * The steps to subtract from the instant at which a key is fresh, for the share of its capacity that
 * is left after a decision. It is a small whole number, because engines allocate a fraction that a
 * function returns.
 */
export function stepsLeft(decision: Decision, shares: ShareScale): number {
  if (decision.debt > 0) return 0;
  const left = shares.parts === undefined
    ? decision.remaining * shares.perUnit
    : leastLeft(decision, shares);
  return left > 0 ? 2 + (left | 0) : NOTHING_LEFT;
}

/** The instant at which a key is fresh, with the share of its capacity left after a decision. */
export function freshAtWith(freshAt: number, decision: Decision, shares: ShareScale): number {
  return freshAt - stepsLeft(decision, shares) / STEPS;
}

/** The share of a key's capacity that its last write left: a whole number, good only to compare. */
export function leftOf(freshAt: number): number {
  return ((Math.ceil(freshAt) - freshAt) * STEPS) | 0;
}

/** Eighths left of the part that has the least left. */
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
