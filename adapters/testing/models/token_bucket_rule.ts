import { floorDivide, type RateRuleOptions, returnable, smaller } from "./rate.ts";
import type { Rule } from "./rule.ts";

/** Tokens in the bucket, in the rule's own unit, at a tick of its own clock. */
export interface Tokens {
  /** Tokens, in the rule's own unit; below 0 if the clock has stepped back. */
  readonly tokens: bigint;
  /** The tick of the rule's clock. */
  readonly at: bigint;
}

/** The options of a token bucket's rule. */
export interface TokenBucketRuleOptions extends RateRuleOptions {
  /** Whether tokens come one by one, or `limit` at each multiple of the period. */
  readonly refill?: "greedy" | "interval" | undefined;
}

/**
 * The token bucket by its definition: a bucket of `burst` tokens that starts full; a call takes its
 * cost in tokens or is refused. `"greedy"` counts tokens in parts of 1 / period and adds `limit`
 * parts each millisecond, `"interval"` counts whole tokens and adds `limit` at each multiple of the
 * period. Counted back before the instant of the last change the bucket holds less, by the same
 * rate: so a clock that steps back admits no more.
 *
 * @param options The rate, and how the bucket is refilled.
 *
 * @example
 * ```ts
 * import { model, tokenBucketRule } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const key = model(tokenBucketRule({ limit: 5, period: 1_000, burst: 8, refill: "interval" }));
 * assert.equal(key.decide(1_500, 8).remaining, 0);
 * assert.equal(key.decide(2_000, 0).remaining, 5);
 * ```
 */
export function tokenBucketRule(
  { limit, period, burst = limit, refill = "greedy", maxDebt }: TokenBucketRuleOptions,
): Rule<Tokens> {
  const tick = refill === "greedy" ? 1n : BigInt(period);
  const token = refill === "greedy" ? BigInt(period) : 1n;
  const full = BigInt(burst) * token;

  function tokensAt(use: Tokens | undefined, now: bigint): bigint {
    if (use === undefined) return full;
    return smaller(full, use.tokens + (floorDivide(now, tick) - use.at) * BigInt(limit));
  }
  return {
    capacity: BigInt(burst),
    limit: () => limit,
    admits: (use, now, cost) => tokensAt(use, now) >= cost * token,
    after(use, now, cost) {
      const returned = returnable(-cost, BigInt(burst), maxDebt);
      const tokens = tokensAt(use, now) + returned * token;
      return tokens < full ? { tokens, at: floorDivide(now, tick) } : undefined;
    },
    fresh: (use, now) => tokensAt(use, now) === full,
  };
}
