import { larger, type RateRuleOptions, returnable } from "./rate.ts";
import type { Rule } from "./rule.ts";

/**
 * GCRA by its definition: a call conforms when max(TAT, now) + cost * T - now <= burst * T. Use is
 * the theoretical arrival time, in units of 1 / limit milliseconds, in which the emission interval
 * T is the period and everything is whole. No more than `burst` units and the debt are ever in use, so no
 * more are given back.
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
  { limit, period, burst = limit, maxDebt }: RateRuleOptions,
): Rule<bigint> {
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
