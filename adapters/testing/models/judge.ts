/*
 * Derives a whole decision from a rule by binary search. Rules state no formula for a duration, so
 * a wrong formula in an algorithm cannot be repeated in its model.
 */

import type { Decision } from "../../../core/decision.ts";
import type { AlgorithmRule } from "./algorithm_rule.ts";

/**
 * A bound on every search: far beyond any duration within the exact bounds. A condition that does
 * not hold by then never does.
 */
const NEVER: bigint = 1n << 62n;

/** The answer of a rule to one call, and the use after it. */
export interface Judgement<Use> {
  /** The answer. */
  readonly decision: Decision;
  /** The use that the key remembers now; `undefined` if it holds no use. */
  readonly use: Use | undefined;
}

/**
 * Judges one call by a rule. Every duration is the first millisecond, and `remaining` the last
 * cost, for which the rule itself says yes; they are found by doubling and halving.
 *
 * @param rule The rule.
 * @param use The key's use so far; `undefined` if it holds none.
 * @param now The instant in whole milliseconds.
 * @param cost Units to take; 0 looks, below 0 gives back.
 * @param charge Whether to take them beyond the capacity if necessary.
 *
 * @example
 * ```ts
 * import { gcraRule, judge } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const rule = gcraRule({ limit: 2, period: 1_000, burst: 2 });
 * const { decision } = judge(rule, undefined, 0n, 2n);
 * assert.equal(decision.nextAfter, 500);
 * assert.equal(decision.resetAfter, 1_000);
 * ```
 */
export function judge<Use>(
  rule: AlgorithmRule<Use>,
  use: Use | undefined,
  now: bigint,
  cost: bigint,
  charge: boolean = false,
): Judgement<Use> {
  if (charge && cost > 0n) return judge(rule, charged(rule, use, now, cost), now, 0n);
  const allowed = cost <= 0n || rule.admits(use, now, cost);
  const next = allowed && cost !== 0n ? rule.after(use, now, cost) : use;
  const remaining = last(rule.capacity, (units) => rule.admits(next, now, units));
  const parts = rule.parts?.(use, now, cost);
  const decision: Decision = {
    allowed,
    limit: rule.limit(next, now),
    remaining: Number(remaining),
    retryAfter: allowed ? 0 : least((wait) => rule.admits(use, now + wait, cost)),
    nextAfter: remaining === rule.capacity
      ? 0
      : least((wait) => rule.admits(next, now + wait, remaining + 1n)),
    resetAfter: next === undefined ? 0 : least((wait) => rule.fresh(next, now + wait)),
    delay: allowed && cost > 0n && rule.delay !== undefined ? Number(rule.delay(use, now)) : 0,
    debt: parts === undefined ? debt(rule, next, now) : Math.max(...parts.map((part) => part.debt)),
    source: undefined,
    parts,
  };
  return { decision, use: next };
}

/** The use after a charge of `cost` units, or of as many as the bound on debt allows. */
export function charged<Use>(
  rule: AlgorithmRule<Use>,
  use: Use | undefined,
  now: bigint,
  cost: bigint,
): Use | undefined {
  if (rule.charge !== undefined) return rule.charge(use, now, cost);
  const { maxDebt } = rule;
  const units = maxDebt === undefined
    ? cost
    : last(cost, (units) => rule.admits(use, now, units - maxDebt));
  return units > 0n ? rule.after(use, now, units) : use;
}

/** The fewest units without which the key is within its capacity. */
function debt<Use>(rule: AlgorithmRule<Use>, use: Use | undefined, now: bigint): number {
  const units = least((units) => rule.admits(use, now, -units));
  return rule.maxDebt === undefined ? units : Math.min(units, Number(rule.maxDebt));
}

/** The first number for which the condition holds; `Infinity` if it never does. */
function least(holds: (wait: bigint) => boolean): number {
  if (holds(0n)) return 0;
  let high = 1n;
  while (!holds(high)) {
    if (high > NEVER) return Infinity;
    high *= 2n;
  }
  return Number(first(high / 2n, high, holds));
}

/** The first number above `low` for which the condition holds; it must hold for `high`. */
function first(low: bigint, high: bigint, holds: (n: bigint) => boolean): bigint {
  if (high - low <= 1n) return high;
  const middle = (low + high) / 2n;
  return holds(middle) ? first(low, middle, holds) : first(middle, high, holds);
}

/** The largest number up to `most` for which the condition holds; 0 if it holds for none. */
function last(most: bigint, holds: (n: bigint) => boolean): bigint {
  return holds(most) ? most : first(0n, most, (n) => !holds(n)) - 1n;
}

/** One key that keeps its own use, and what an algorithm should answer for it. */
export interface Model {
  /**
   * Answers a call and remembers it.
   *
   * @param now Milliseconds; a fraction is floored.
   * @param cost Units to take; 0 looks, below 0 gives back.
   * @param charge Whether to take them beyond the capacity if necessary.
   */
  decide(now: number, cost: number, charge?: boolean): Decision;
}

/**
 * A model of one key under a rule.
 *
 * @param rule The rule; what it remembers is the model's own.
 * @returns A model of a fresh key.
 *
 * @example
 * ```ts
 * import { gcraRule, model } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const key = model(gcraRule({ limit: 1, period: 1_000, burst: 1 }));
 * assert.equal(key.decide(0, 1).allowed, true);
 * assert.equal(key.decide(0, 1).retryAfter, 1_000);
 * ```
 */
export function model<Use>(rule: AlgorithmRule<Use>): Model {
  let use: Use | undefined;
  return {
    decide(now: number, cost: number, charge?: boolean): Decision {
      const judgement = judge(rule, use, BigInt(Math.floor(now)), BigInt(cost), charge);
      use = judgement.use;
      return judgement.decision;
    },
  };
}
