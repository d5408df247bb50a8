/*
 * Upper bounds on the units admitted in a span of time. Users rely on these promises, and checking
 * them needs only the calls that were made: no state, and no model.
 */

import type { RateRuleOptions } from "./models/rate_rules.ts";

/**
 * The most that an algorithm admits over spans of time: a promise about units, not about states.
 *
 * @example
 * ```ts
 * import { rateBound } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const bound = rateBound({ limit: 10, period: 1_000, burst: 3 });
 * assert.equal(bound.most(5_000, 5_000), 3);
 * assert.equal(bound.most(5_000, 5_250), 5);
 * ```
 */
export interface Bound {
  /** The promise in words. */
  readonly name: string;
  /**
   * The most units admitted at instants from `from` to `to`, both included; `Infinity` when the
   * promise says nothing about a span of this length.
   */
  most(from: number, to: number): number;
}

/**
 * `burst + limit * d / period` units in any span of d: `gcra`, `leakyBucket`, greedy `tokenBucket`,
 * and with a burst of `queue + burst` the `leakyQueue`.
 *
 * @param options The rate.
 *
 * @example
 * ```ts
 * import { rateBound } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * assert.equal(rateBound({ limit: 14, period: 884_090, burst: 40 }).most(0, 884_090), 54);
 * ```
 */
export function rateBound({ limit, period, burst }: RateRuleOptions): Bound {
  return {
    name: `${burst} + ${limit} * d / ${period} units in any span of d ms`,
    most: (from, to) => burst + Number(BigInt(to - from) * BigInt(limit) / BigInt(period)),
  };
}

/**
 * `burst` units, and `limit` for each multiple of the period in the span: interval `tokenBucket`.
 *
 * @param options The rate.
 *
 * @example
 * ```ts
 * import { refillBound } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const bound = refillBound({ limit: 5, period: 1_000, burst: 8 });
 * assert.equal(bound.most(999, 1_000), 13);
 * assert.equal(bound.most(1_000, 1_999), 8);
 * ```
 */
export function refillBound({ limit, period, burst }: RateRuleOptions): Bound {
  return {
    name: `${burst} units, and ${limit} for each multiple of ${period} ms in the span`,
    most: (from, to) => burst + limit * (Math.floor(to / period) - Math.floor(from / period)),
  };
}

/**
 * At most `units` in any span shorter than `length`: logs, windows and counters.
 *
 * @param units The most units.
 * @param length Milliseconds; the two ends of a span are less than this apart.
 *
 * @example
 * ```ts
 * import { spanBound } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const bound = spanBound(10, 1_000);
 * assert.equal(bound.most(0, 999), 10);
 * assert.equal(bound.most(0, 1_000), Infinity);
 * ```
 */
export function spanBound(units: number, length: number): Bound {
  return {
    name: `${units} units in any span of ${length} ms`,
    most: (from, to) => (to - from < length ? units : Infinity),
  };
}
