/*
 * The model of `all`: several rules combined by definition. It shares no code with core's `all`, so
 * that an error in one shows as a difference from the other.
 */

import type { Decision } from "../../../core/decision.ts";
import { charged, judge } from "./judge.ts";
import { smaller } from "./whole_numbers.ts";
import type { AlgorithmRule } from "./algorithm_rule.ts";

/** The uses that the parts remember. */
export type Uses = readonly unknown[];

/**
 * Several rules as one, by definition: it admits when each of them does and then charges each, or
 * else none. A refusing part answers as it would alone, an admitting part of a refused call as if
 * it were asked for nothing.
 *
 * @param rules The parts, at least one.
 *
 * @example
 * ```ts
 * import { allRule, gcraRule, model, slidingLogRule } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const key = model(allRule(
 *   gcraRule({ limit: 10, period: 1_000, burst: 5 }),
 *   slidingLogRule({ limit: 7, period: 60_000 }),
 * ));
 * assert.equal(key.decide(0, 5).remaining, 0);
 * assert.equal(key.decide(500, 5).retryAfter, 59_500);
 * ```
 */
export function allRule(...rules: readonly AlgorithmRule[]): AlgorithmRule<Uses> {
  const none: Uses = rules.map(() => undefined);

  function decisions(uses: Uses, now: bigint, cost: bigint): Decision[] {
    return rules.map((rule, i) => judge(rule, uses[i], now, cost).decision);
  }
  function admits(uses: Uses = none, now: bigint, cost: bigint): boolean {
    return rules.every((rule, i) => rule.admits(uses[i], now, cost));
  }
  return {
    capacity: rules.map((rule) => rule.capacity).reduce(smaller),
    limit(uses = none, now) {
      const looks = decisions(uses, now, 0n);
      const least = Math.min(...looks.map((look) => look.remaining));
      return looks.find((look) => look.remaining === least)?.limit ?? NaN;
    },
    admits,
    after(uses = none, now, cost) {
      const next = rules.map((rule, i) => rule.after(uses[i], now, cost));
      return next.some((use) => use !== undefined) ? next : undefined;
    },
    charge(uses = none, now, cost) {
      const next = rules.map((rule, i) => charged(rule, uses[i], now, cost));
      return next.some((use) => use !== undefined) ? next : undefined;
    },
    fresh: (uses, now) =>
      rules.every((rule, i) => uses[i] === undefined || rule.fresh(uses[i], now)),
    delay: (uses = none, now) =>
      rules.map((rule, i) => rule.delay?.(uses[i], now) ?? 0n).reduce((a, b) => a > b ? a : b),
    parts(uses = none, now, cost) {
      if (cost <= 0n || admits(uses, now, cost)) return decisions(uses, now, cost);
      const looks = decisions(uses, now, 0n);
      return decisions(uses, now, cost).map((alone, i) =>
        alone.allowed ? looks[i] as Decision : alone
      );
    },
  };
}
