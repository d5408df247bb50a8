import type { Decision } from "../../../core/decision.ts";
import { judge } from "./judge.ts";
import type { Rule } from "./rule.ts";

/** What an algorithm should answer, for one key: it remembers, and it is exact. */
export interface Model {
  /**
   * Answers a call and remembers it.
   *
   * @param now Milliseconds; a fraction is floored.
   * @param cost Units to take; 0 looks, below 0 gives back.
   * @param charge Whether to take them beyond the capacity if need be.
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
 * const key = model(gcraRule({ limit: 1, period: 1_000 }));
 * assert.equal(key.decide(0, 1).allowed, true);
 * assert.equal(key.decide(0, 1).retryAfter, 1_000);
 * ```
 */
export function model<Use>(rule: Rule<Use>): Model {
  let use: Use | undefined;
  return {
    decide(now: number, cost: number, charge?: boolean): Decision {
      const judgement = judge(rule, use, BigInt(Math.floor(now)), BigInt(cost), charge);
      use = judgement.use;
      return judgement.decision;
    },
  };
}
