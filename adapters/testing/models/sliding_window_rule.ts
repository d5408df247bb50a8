import { debtOf, floorDivide, smaller } from "./rate.ts";
import type { Rule } from "./rule.ts";

/** Units by the number of their sub-bucket; none of them 0. */
export type Buckets = ReadonlyMap<bigint, bigint>;

/** The options of a sliding window's rule; durations in whole milliseconds. */
export interface SlidingWindowRuleOptions {
  /** Units in the last `period / precision` sub-buckets. */
  readonly limit: number;
  /** The period in whole milliseconds. */
  readonly period: number;
  /** The length of a sub-bucket in whole milliseconds; it divides the period. */
  readonly precision: number;
  /** The most units beyond the limit that a key may owe; no bound without it. */
  readonly maxDebt?: number | undefined;
}

/**
 * The sliding window by its definition: units counted in sub-buckets at multiples of `precision`; at
 * most `limit` in the last `period / precision` of them, the one of now included. An instant before
 * the newest sub-bucket that holds units counts as that one's. An admission forgets
 * what is no longer in the window at its instant; giving back forgets nothing.
 *
 * @param options The limit, the window and its sub-buckets.
 *
 * @example
 * ```ts
 * import { model, slidingWindowRule } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const key = model(slidingWindowRule({ limit: 1, period: 1_000, precision: 250 }));
 * assert.equal(key.decide(100, 1).resetAfter, 900);
 * ```
 */
export function slidingWindowRule(
  { limit, period, precision, maxDebt }: SlidingWindowRuleOptions,
): Rule<Buckets> {
  const span = BigInt(period / precision);

  function numberOf(buckets: Buckets, now: bigint): bigint {
    let number = floorDivide(now, BigInt(precision));
    for (const held of buckets.keys()) if (held > number) number = held;
    return number;
  }
  function live(buckets: Buckets, now: bigint): Map<bigint, bigint> {
    const newest = numberOf(buckets, now);
    return new Map([...buckets].filter(([number]) => newest - number < span));
  }
  return {
    capacity: BigInt(limit),
    ...debtOf(maxDebt),
    limit: () => limit,
    admits: (buckets = new Map(), now, cost) =>
      [...live(buckets, now).values()].reduce((a, b) => a + b, cost) <= BigInt(limit),
    after(buckets = new Map(), now, cost) {
      if (cost <= 0n) {
        const kept = withoutNewest(buckets, -cost);
        return live(kept, now).size > 0 ? kept : undefined;
      }
      const kept = live(buckets, now);
      const number = numberOf(buckets, now);
      return kept.set(number, (kept.get(number) ?? 0n) + cost);
    },
    fresh: (buckets, now) => live(buckets, now).size === 0,
  };
}

function withoutNewest(buckets: Buckets, units: bigint): Buckets {
  const kept = new Map(buckets);
  let left = units;
  for (const [number, held] of [...buckets].sort(([a], [b]) => (a > b ? -1 : 1))) {
    const taken = smaller(left, held);
    left -= taken;
    if (taken === held) kept.delete(number);
    else kept.set(number, held - taken);
  }
  return kept;
}
