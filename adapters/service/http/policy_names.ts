/*
 * The names of a rule's limits in answers: the same on every request, whatever other rules hold for
 * it, and the same in all fields and bodies.
 */

import type { Policy } from "../../../mod.ts";
import type { RuleVerdict } from "../../rules/rules.ts";

/**
 * The policies of a rule's limits, under the rule's own name; several limits add their own names.
 */
export function rulePolicies({ rule, limits }: RuleVerdict): readonly Policy[] {
  const own = printable(rule.name ?? rule.label);
  const policies = limits.flatMap((limit) => limit.policies);
  return policies.length === 1
    ? [{ ...policies[0]!, name: own }]
    : policies.map((policy) => ({ ...policy, name: `${own}/${policy.name}` }));
}

/** The names of those that a verdict violates; of a rule without limits its own. */
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
