import { type Entry, withoutNewest } from "./log.ts";
import { larger } from "./rate.ts";
import type { Rule } from "./rule.ts";
import type { SlidingLogRuleOptions } from "./sliding_log_rule.ts";

/** The options of a lockout's rule; durations in whole milliseconds. */
export interface LockoutRuleOptions extends SlidingLogRuleOptions {
  /** For how long the try that fills the period locks the key, in whole milliseconds. */
  readonly lock: number;
}

/**
 * The lockout by its definition: a list of tries and when they were taken, in order. They are
 * forgotten together: a `period` after the first one, or `lock` after the one that was number `limit`
 * if there is one. An instant before the first try counts as that one's.
 *
 * @param options The limit, the period and the lock.
 *
 * @example
 * ```ts
 * import { lockoutRule, model } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const key = model(lockoutRule({ limit: 2, period: 1_000, lock: 5_000 }));
 * assert.equal(key.decide(0, 1).resetAfter, 1_000);
 * assert.equal(key.decide(600, 1).resetAfter, 5_000);
 * ```
 */
export function lockoutRule(
  { limit, period, lock }: LockoutRuleOptions,
): Rule<readonly Entry[]> {
  const most = BigInt(limit);

  /** The first instant at which the tries are forgotten. */
  function end(tries: readonly Entry[]): bigint {
    let taken = 0n;
    for (const { at, units } of tries) {
      taken += units;
      if (taken >= most) return at + BigInt(lock);
    }
    return tries[0]!.at + BigInt(period);
  }
  function live(tries: readonly Entry[], now: bigint): readonly Entry[] {
    return tries.length > 0 && now < end(tries) ? tries : [];
  }
  function taken(tries: readonly Entry[]): bigint {
    return tries.reduce((total, { units }) => total + units, 0n);
  }
  return {
    capacity: most,
    limit: () => limit,
    admits: (tries = [], now, cost) => taken(live(tries, now)) + cost <= most,
    after(tries = [], now, cost) {
      const held = live(tries, now);
      if (cost > 0n) return [...held, { at: larger(now, held[0]?.at ?? now), units: cost }];
      const kept = live(withoutNewest(held, -cost), now);
      return kept.length > 0 ? kept : undefined;
    },
    fresh: (tries, now) => live(tries, now).length === 0,
  };
}
