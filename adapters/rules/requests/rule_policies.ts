/*
 * The names of a rule's limits in answers: the same on every request, whatever other rules hold for
 * it, and the same in all fields and bodies.
 */

import type { Policy } from "../../../core/algorithm.ts";
import type { Decision } from "../../../core/decision.ts";
import type { RuleVerdict } from "../../../core/rules/rules.ts";

/** The policies that answers show of the rules that hold for a request: one for each limit. */
export interface ShownPolicies {
  /** The same text for the same policies. */
  readonly id: string;
  /** The policies. */
  readonly policies: readonly Policy[];
  /** The decision of each. */
  readonly decisions: readonly Decision[];
}

/**
 * The part of the enforced rules that answers show. A failure policy's answers say nothing about a
 * limit.
 *
 * @example
 * ```ts
 * import { ruleEngine, shownPolicies, type Verdict } from "tidegate/rules";
 * import assert from "node:assert/strict";
 *
 * const engine = ruleEngine({
 *   rules: {
 *     domain: "shop",
 *     rules: [{ key: "user", name: "api", limits: [{ limit: 2, period: "1m", burst: 2 }] }],
 *   },
 * });
 * const descriptors = [{ entries: [["user", "ann"]] }] as const;
 * const verdict = engine.consume({ domain: "shop", descriptors }) as Verdict;
 * assert.deepEqual(shownPolicies(verdict.rules).policies.map(({ name }) => name), ["api"]);
 * ```
 */
export function shownPolicies(rules: readonly RuleVerdict[]): ShownPolicies {
  const enforced = scarcest(
    rules.filter(({ rule, decision }) =>
      !rule.shadow && decision !== undefined && decision.source !== "policy"
    ),
  );
  const policies = enforced.flatMap(rulePolicies);
  const decisions = enforced.flatMap(decisionsOf);
  if (policies.length !== decisions.length) return NOTHING_SHOWN;
  // Two calendars may have the same numbers.
  const id = JSON.stringify([policies, enforced.map(({ limits }) => limits.map(({ id }) => id))]);
  return { id, policies, decisions };
}

const NOTHING_SHOWN: ShownPolicies = { id: "", policies: [], decisions: [] };

/**
 * For each rule, the counter that refuses, otherwise the counter with the fewest units left. There
 * can be only one, because a policy's name is unique.
 */
function scarcest(verdicts: readonly RuleVerdict[]): readonly RuleVerdict[] {
  if (verdicts.length < 2) return verdicts;
  const byRule = new Map<RuleVerdict["rule"], RuleVerdict>();
  const left = ({ allowed, decision }: RuleVerdict) => allowed ? decision!.remaining : -1;
  for (const verdict of verdicts) {
    const known = byRule.get(verdict.rule);
    if (known === undefined || left(verdict) < left(known)) byRule.set(verdict.rule, verdict);
  }
  return [...byRule.values()];
}

function decisionsOf({ decision, limits }: RuleVerdict): readonly Decision[] {
  if (decision === undefined || limits.length === 0) return [];
  return limits.length === 1 ? [decision] : decision.parts ?? [];
}

/**
 * The policies of a rule's limits, under the rule's own name; several limits add their own names.
 */
function rulePolicies({ rule, limits }: RuleVerdict): readonly Policy[] {
  const own = printable(rule.name ?? rule.label);
  const policies = limits.flatMap((limit) => limit.policies);
  return policies.length === 1
    ? [{ ...policies[0]!, name: own }]
    : policies.map((policy) => ({ ...policy, name: `${own}/${policy.name}` }));
}

/**
 * The names of the policies that a verdict violates; for a rule without limits, the rule's own
 * name.
 */
export function violatedPolicies(verdict: RuleVerdict): readonly string[] {
  const { rule, allowed, decision } = verdict;
  if (allowed) return [];
  const policies = rulePolicies(verdict);
  const parts = decision?.parts ?? [];
  const violated = parts.length === policies.length
    ? policies.filter((_, index) => !parts[index]!.allowed)
    : policies;
  return violated.length === 0
    ? [printable(rule.name ?? rule.label)]
    : violated.map(({ name }) => name);
}

/** Text that can stand in a field. */
function printable(text: string): string {
  const wellFormed = new TextDecoder().decode(new TextEncoder().encode(text));
  return wellFormed.replaceAll(/[^\x20-\x7e]+/gu, encodeURIComponent);
}
