/*
 * Two facts in one number: when a key is fresh, and how much of its capacity its last call left. A
 * full store needs the second fact to choose which key it forgets, and has no room for another
 * number in each slot.
 *
 * Instants are whole, so the fraction can carry the share that is left. An instant of 1,000 is kept
 * as 1,000 minus 1/16 if nothing is left, as 1,000 minus nearly 15/16 if nearly all is left, and as
 * 1,000 itself if the key is in debt. A comparison with a whole instant gives the same result. An
 * instant too large for a fraction reads as debt, which protects its key; no call comes so late.
 */

import type { Algorithm } from "../algorithm.ts";
import { partsOf } from "../algorithms/parts_of.ts";
import type { Decision } from "../decision.ts";

/** The fraction that is subtracted for a key without debt that has nothing left. */
const NOTHING_LEFT = 1 / 16;
/**
 * How much more is subtracted if the whole capacity is left. The sum stays below 1, and is never
 * rounded to 1.
 */
const ALL_LEFT = 14 / 16;

/** The fields of a decision that say how fresh its key is; every `Decision` has them. */
type Leaving = Pick<Decision, "resetAfter" | "remaining" | "debt" | "parts">;

/**
 * The capacities of an algorithm and of its parts. Every call reads them, so they have one shape
 * for all algorithms.
 */
export interface Capacities {
  readonly capacity: number;
  readonly parts: readonly Capacities[];
}

/** The capacities of an algorithm. */
export function capacitiesOf(algorithm: Algorithm): Capacities {
  return { capacity: algorithm.capacity, parts: (partsOf(algorithm) ?? []).map(capacitiesOf) };
}

/** A whole instant combined with the share of the capacity that is left, for a key without debt. */
export function withShareLeft(freshAt: number, remaining: number, capacity: number): number {
  return freshAt - (NOTHING_LEFT + ALL_LEFT * remaining / capacity);
}

/**
 * When a key is fresh after a decision of an algorithm, with the share of its capacity left.
 *
 * @param kept How long its state is kept: with notes, longer than until it is fresh.
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

/** The smallest share that any part of `all` has left. */
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

/**
 * An instant that protects its key, because the key is in debt, or because an algorithm written
 * elsewhere may not know.
 */
function withoutShare(freshAt: number): number {
  return Number.isNaN(freshAt) ? Infinity : freshAt;
}

/**
 * The share of its capacity that a key has left, as its instant carries it: more for a larger share, 0
 * for a key in debt.
 */
export function leftOf(freshAt: number): number {
  return freshAt < Infinity ? Math.ceil(freshAt) - freshAt : 0;
}
