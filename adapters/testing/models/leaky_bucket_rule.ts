import { larger, type RateRuleOptions, returnable } from "./rate.ts";
import type { Rule } from "./rule.ts";

/** The level of the bucket, in parts of 1 / period, at an instant. */
export interface Level {
  /** The level, in parts of 1 / period. */
  readonly level: bigint;
  /** The instant, in milliseconds. */
  readonly at: bigint;
}

/**
 * The leaky bucket as a meter, by its definition: a call pours its cost in or is refused when it
 * would overflow `burst`; `limit` parts of 1 / period drain each millisecond. Counted back before
 * the instant of the last change the level is higher, by the same rate.
 *
 * @param options The rate.
 *
 * @example
 * ```ts
 * import { leakyBucketRule, model } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const key = model(leakyBucketRule({ limit: 2, period: 1_000 }));
 * assert.equal(key.decide(0, 2).allowed, true);
 * assert.equal(key.decide(499, 1).retryAfter, 1);
 * ```
 */
export function leakyBucketRule(
  { limit, period, burst = limit, maxDebt }: RateRuleOptions,
): Rule<Level> {
  const unit = BigInt(period);
  const brim = BigInt(burst) * unit;

  function levelAt(use: Level | undefined, now: bigint): bigint {
    return use === undefined ? 0n : larger(0n, use.level - (now - use.at) * BigInt(limit));
  }
  return {
    capacity: BigInt(burst),
    limit: () => limit,
    admits: (use, now, cost) => levelAt(use, now) + cost * unit <= brim,
    after(use, now, cost) {
      const drained = returnable(-cost, BigInt(burst), maxDebt);
      const level = levelAt(use, now) - drained * unit;
      return level > 0n ? { level, at: now } : undefined;
    },
    fresh: (use, now) => levelAt(use, now) === 0n,
  };
}
