/*
 * The models of `gcra`, `leakyBucket`, `leakyQueue` and `tokenBucket`, each by its own textbook
 * definition in bigints. Core computes all four by one arithmetic; these show that it may.
 */

import type { AlgorithmRule } from "./algorithm_rule.ts";
import { ceilDivide, floorDivide, larger, smaller } from "./whole_numbers.ts";

/** The options that the rules of rates share; durations in whole milliseconds. */
export interface RateRuleOptions {
  /** Units per period in the long run. */
  readonly limit: number;
  /** The period in whole milliseconds. */
  readonly period: number;
  /** Units that a fresh key admits at one instant. */
  readonly burst: number;
  /** The most units beyond the capacity that a key may owe, which bounds refunds; default none. */
  readonly maxDebt?: number | undefined;
}

/**
 * GCRA by its definition: a call conforms when max(TAT, now) + cost * T - now <= burst * T. Use is
 * the theoretical arrival time, in units of 1 / limit milliseconds, in which the emission interval
 * T is the period and everything is whole. No more than `burst + maxDebt` units are ever in use, so
 * no more are given back.
 *
 * @param options The rate.
 *
 * @example
 * ```ts
 * import { gcraRule, model } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const key = model(gcraRule({ limit: 14, period: 884_090, burst: 40 }));
 * assert.equal(key.decide(0, 40).allowed, true);
 * ```
 */
export function gcraRule(
  { limit, period, burst, maxDebt }: RateRuleOptions,
): AlgorithmRule<bigint> {
  const ticks = BigInt(limit);
  const interval = BigInt(period);
  const tolerance = BigInt(burst) * interval;
  return {
    capacity: BigInt(burst),
    limit: () => limit,
    admits: (tat = 0n, now, cost) =>
      larger(tat, now * ticks) + cost * interval - now * ticks <= tolerance,
    after(tat, now, cost) {
      if (cost > 0n) return larger(tat ?? 0n, now * ticks) + cost * interval;
      const lowered = (tat ?? 0n) - returnable(-cost, BigInt(burst), maxDebt) * interval;
      return lowered > now * ticks ? lowered : undefined;
    },
    fresh: (tat, now) => tat <= now * ticks,
  };
}

/** The level of the bucket, in parts of 1 / period, at an instant. */
export interface Level {
  /** The level, in parts of 1 / period. */
  readonly level: bigint;
  /** The instant, in milliseconds. */
  readonly at: bigint;
}

/**
 * The leaky bucket as a meter, by its definition: a call pours its cost in or is refused when it
 * would overflow `burst`; `limit` parts of 1 / period drain each millisecond. For an instant before
 * the last change the level is extrapolated backwards: it was higher, by the same rate.
 *
 * @param options The rate.
 *
 * @example
 * ```ts
 * import { leakyBucketRule, model } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const key = model(leakyBucketRule({ limit: 2, period: 1_000, burst: 2 }));
 * assert.equal(key.decide(0, 2).allowed, true);
 * assert.equal(key.decide(499, 1).retryAfter, 1);
 * ```
 */
export function leakyBucketRule(
  { limit, period, burst, maxDebt }: RateRuleOptions,
): AlgorithmRule<Level> {
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

/** The options of a leaky queue's rule; durations in whole milliseconds. */
export interface LeakyQueueRuleOptions {
  /** Calls that start per period. */
  readonly limit: number;
  /** The period in whole milliseconds. */
  readonly period: number;
  /** How many calls may wait. */
  readonly queue: number;
  /** Units that start at once; 1 without it. */
  readonly burst?: number | undefined;
  /** The most units beyond the capacity that a key may owe, which bounds refunds; default none. */
  readonly maxDebt?: number | undefined;
}

/**
 * The leaky bucket as a queue, by its definition: places lie one emission interval apart. A call
 * takes as many as it costs and starts at its first, or `burst - 1` intervals earlier if it has come
 * by then. It is admitted when its last place is at most `queue + burst - 1` intervals ahead. Use is
 * the instant of the next place, in parts of 1 / limit milliseconds.
 *
 * @param options The rate and the length of the queue.
 *
 * @example
 * ```ts
 * import { leakyQueueRule, model } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const key = model(leakyQueueRule({ limit: 3, period: 1_000, queue: 1 }));
 * assert.equal(key.decide(0, 1).delay, 0);
 * assert.equal(key.decide(0, 1).delay, 334);
 * assert.equal(key.decide(0, 1).allowed, false);
 * ```
 */
export function leakyQueueRule(
  { limit, period, queue, burst = 1, maxDebt }: LeakyQueueRuleOptions,
): AlgorithmRule<bigint> {
  const rate = gcraRule({ limit, period, burst: queue + burst, maxDebt });
  const ticks = BigInt(limit);
  const apart = BigInt(period);

  /** From `now` to the next free place, in ticks. */
  function untilFree(free: bigint | undefined, now: bigint): bigint {
    return larger((free ?? 0n) - now * ticks, 0n);
  }
  return {
    ...rate,
    admits(free, now, cost) {
      const lastStart = untilFree(free, now) + (cost - 1n) * apart;
      return ceilDivide(lastStart, apart) <= BigInt(queue + burst - 1);
    },
    delay: (free, now) =>
      larger(0n, ceilDivide(untilFree(free, now) - BigInt(burst - 1) * apart, ticks)),
  };
}

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
 * period. For an instant before the last change the tokens are extrapolated backwards: there were
 * fewer, by the same rate, so a clock that steps back admits no more.
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
  { limit, period, burst, refill = "greedy", maxDebt }: TokenBucketRuleOptions,
): AlgorithmRule<Tokens> {
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

/** Units that may be given back: at most those that can be in use. */
function returnable(units: bigint, capacity: bigint, maxDebt: number | undefined): bigint {
  return maxDebt === undefined ? units : smaller(units, capacity + BigInt(maxDebt));
}
