import { type Entry, logRule } from "./log.ts";
import type { Rule } from "./rule.ts";

export type { Entry };

/** The options of a log's rule; durations in whole milliseconds. */
export interface SlidingLogRuleOptions {
  /** Units in any span of a period. */
  readonly limit: number;
  /** The period in whole milliseconds. */
  readonly period: number;
}

/**
 * The sliding log by its definition: a list of what was taken and when, oldest first; at most
 * `limit` units in (now - period, now]. An instant before the newest entry counts as that entry's.
 * An admission forgets what is no longer in the span at its instant; giving back forgets nothing.
 *
 * @param options The limit and the span.
 *
 * @example
 * ```ts
 * import { model, slidingLogRule } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const key = model(slidingLogRule({ limit: 2, period: 1_000 }));
 * key.decide(0, 1);
 * key.decide(600, 1);
 * assert.equal(key.decide(700, 1).retryAfter, 300);
 * assert.equal(key.decide(700, 2).retryAfter, 900);
 * ```
 */
export function slidingLogRule(
  { limit, period }: SlidingLogRuleOptions,
): Rule<readonly Entry[]> {
  return logRule(limit, 1, period);
}
