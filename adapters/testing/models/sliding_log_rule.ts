import { debtOf, larger, smaller } from "./rate.ts";
import type { Rule } from "./rule.ts";

/** The units taken at one instant. */
export interface Entry {
  /** The instant, in milliseconds. */
  readonly at: bigint;
  /** How many. */
  readonly units: bigint;
}

/** The options of a log's rule; durations in whole milliseconds. */
export interface SlidingLogRuleOptions {
  /** Units in any span of a period. */
  readonly limit: number;
  /** The period in whole milliseconds. */
  readonly period: number;
  /** The most units beyond the limit that a key may owe; no bound without it. */
  readonly maxDebt?: number | undefined;
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
  { limit, period, maxDebt }: SlidingLogRuleOptions,
): Rule<readonly Entry[]> {
  function instant(log: readonly Entry[], now: bigint): bigint {
    return larger(now, log.at(-1)?.at ?? now);
  }
  function live(log: readonly Entry[], now: bigint): Entry[] {
    const after = instant(log, now) - BigInt(period);
    return log.filter((entry) => entry.at > after);
  }
  return {
    capacity: BigInt(limit),
    ...debtOf(maxDebt),
    limit: () => limit,
    admits: (log = [], now, cost) => sum(live(log, now)) + cost <= BigInt(limit),
    after(log = [], now, cost) {
      if (cost > 0n) return [...live(log, now), { at: instant(log, now), units: cost }];
      const kept = withoutNewest(log, -cost);
      return live(kept, now).length > 0 ? kept : undefined;
    },
    fresh: (log, now) => live(log, now).length === 0,
  };
}

function sum(entries: readonly Entry[]): bigint {
  return entries.reduce((total, entry) => total + entry.units, 0n);
}

/** The entries without their last units. */
export function withoutNewest(entries: readonly Entry[], units: bigint): Entry[] {
  const kept = [...entries];
  let left = units;
  while (left > 0n && kept.length > 0) {
    const newest = kept.pop() as Entry;
    const taken = smaller(left, newest.units);
    left -= taken;
    if (newest.units > taken) kept.push({ at: newest.at, units: newest.units - taken });
  }
  return kept;
}
