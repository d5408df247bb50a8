import { type Entry, logRule } from "./log.ts";
import type { Rule } from "./rule.ts";

/** Units by the number of their sub-bucket, oldest first. */
export type Buckets = readonly Entry[];

/** The options of a sliding window's rule; durations in whole milliseconds. */
export interface SlidingWindowRuleOptions {
  /** Units in the last `period / precision` sub-buckets. */
  readonly limit: number;
  /** The period in whole milliseconds. */
  readonly period: number;
  /** The length of a sub-bucket in whole milliseconds; it divides the period. */
  readonly precision: number;
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
  { limit, period, precision }: SlidingWindowRuleOptions,
): Rule<Buckets> {
  return logRule(limit, precision, period / precision);
}
