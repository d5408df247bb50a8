/*
 * From the decisions of the rules that hold for a request to one verdict: shadows never refuse, and
 * quotas refuse only together.
 */

import type { Algorithm } from "../algorithm.ts";
import { combineDecisions } from "../algorithms/combine_decisions.ts";
import type { Decision } from "../decision.ts";
import { makeDecision } from "../make_decision.ts";
import type { Rule } from "./compile_rule.ts";

/** The verdict of one rule on a request. */
export interface RuleVerdict {
  /** The rule that holds. */
  readonly rule: Rule;
  /** The counter's key. */
  readonly key: string;
  /** Units that were requested. */
  readonly cost: number;
  /** The places of the descriptors in the request. */
  readonly descriptors: readonly number[];
  /**
   * Its decision; `undefined` if the rule is unlimited. For a shadow, the decision that it would
   * have made.
   */
  readonly decision: Decision | undefined;
  /**
   * The limits that decided: the rule's own limits, or the limits of its key or of the descriptor.
   */
  readonly limits: readonly Algorithm[];
  /** The largest cost that its limits admit for a fresh key. */
  readonly capacity: number;
  /** Whether the rule lets the request pass: a shadow always does. */
  readonly allowed: boolean;
}

/** The verdict on a request. */
export interface Verdict {
  /** Whether it may go ahead. */
  readonly allowed: boolean;
  /** The decision of all enforced limits together; `undefined` if no enforced limit holds. */
  readonly decision: Decision | undefined;
  /** The verdict of each rule that holds, in the order of the descriptors. */
  readonly rules: readonly RuleVerdict[];
}

/** The verdict if no rule holds: admitted. */
export const NO_RULE_VERDICT: Verdict = Object.freeze({
  allowed: true,
  decision: undefined,
  rules: Object.freeze([]),
});

/** The decision of a blocked rule: nothing is ever admitted, except a look. */
export function blockedDecision(cost: number): Decision {
  const allowed = cost <= 0;
  return makeDecision(allowed, 0, 0, allowed ? 0 : Infinity, 0, 0, 0, 0);
}

/**
 * Combines the rules' verdicts: an enforced rule that refuses is enough to refuse; rules in quota
 * mode refuse only if all of them do.
 */
export function verdictOf(rules: readonly RuleVerdict[]): Verdict {
  const only = rules.length === 1 ? rules[0]! : undefined;
  if (only !== undefined && !only.rule.shadow) {
    return { allowed: only.allowed, decision: only.decision, rules };
  }
  let quotas = 0;
  let refusedQuotas = 0;
  let refusals = 0;
  let capacity = Infinity;
  const decisions = new Array<Decision>(rules.length);
  let count = 0;
  for (const { rule, allowed, decision, capacity: own } of rules) {
    if (rule.shadow) continue;
    if (rule.quota) quotas++;
    if (!allowed && rule.quota) refusedQuotas++;
    else if (!allowed) refusals++;
    if (decision === undefined) continue;
    decisions[count++] = decision;
    capacity = Math.min(capacity, own);
  }
  const allowed = refusals === 0 && (quotas === 0 || refusedQuotas < quotas);
  if (count < decisions.length) decisions.length = count;
  if (count === 0) return { allowed, decision: undefined, rules };
  const together = combineDecisions(decisions, capacity);
  const decision = together.allowed === allowed ? together : { ...together, allowed };
  return { allowed, decision, rules };
}
