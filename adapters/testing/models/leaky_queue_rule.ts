import { ceilDivide, larger, returnable } from "./rate.ts";
import type { Rule } from "./rule.ts";

/** The options of a leaky queue's rule; durations in whole milliseconds. */
export interface LeakyQueueRuleOptions {
  /** Calls that start per period. */
  readonly limit: number;
  /** The period in whole milliseconds. */
  readonly period: number;
  /** How many calls may wait. */
  readonly queue: number;
  /** The most units beyond the capacity that a key may owe, which bounds refunds; default none. */
  readonly maxDebt?: number | undefined;
}

/**
 * The leaky bucket as a queue, by its definition: places start one emission interval apart, a call
 * takes as many as it costs and starts at its first. It is admitted when of all places taken at
 * most `queue` have yet to start. Use is the instant of the next place, in parts of 1 / limit
 * milliseconds.
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
  { limit, period, queue, maxDebt }: LeakyQueueRuleOptions,
): Rule<bigint> {
  const ticks = BigInt(limit);
  const apart = BigInt(period);

  function start(free: bigint | undefined, now: bigint): bigint {
    return larger(free ?? 0n, now * ticks);
  }
  return {
    capacity: BigInt(queue) + 1n,
    limit: () => limit,
    admits(free, now, cost) {
      const lastStart = start(free, now) + (cost - 1n) * apart;
      return ceilDivide(lastStart - now * ticks, apart) <= BigInt(queue);
    },
    after(free, now, cost) {
      if (cost > 0n) return start(free, now) + cost * apart;
      const earlier = (free ?? 0n) - returnable(-cost, BigInt(queue) + 1n, maxDebt) * apart;
      return earlier > now * ticks ? earlier : undefined;
    },
    fresh: (free, now) => free <= now * ticks,
    delay: (free, now) => ceilDivide(start(free, now) - now * ticks, ticks),
  };
}
