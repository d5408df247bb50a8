/*
 * What the rules of a service said, by rule. Counters stay when a rule comes back in another version
 * of the configuration, and go with a rule that is there no more.
 */

import { OVERRIDE, type Rule, type RuleSet } from "../../rules/rules.ts";
import type { RuleFigures } from "./figures_snapshot.ts";

/** What is counted of a rule. */
export type Counters = { -readonly [Name in keyof RuleFigures]: RuleFigures[Name] };

/** Counters by the names of rules, and by the rules of this version of the configuration. */
export interface RuleCounters {
  readonly byName: Map<string, Counters>;
  readonly byRule: WeakMap<Rule, Counters>;
}

/** Makes counters of no rules yet. */
export function ruleCounters(): RuleCounters {
  return { byName: new Map(), byRule: new WeakMap() };
}

/** The counters of a rule. */
export function countersOf(counters: RuleCounters, rule: Rule): Counters {
  return counters.byRule.get(rule) ?? addRule(counters, rule);
}

function addRule({ byName, byRule }: RuleCounters, rule: Rule): Counters {
  const name = nameOf(rule);
  const counters: Counters = byName.get(name) ?? {
    domain: rule.domain,
    rule: rule.name ?? rule.label,
    shadow: rule.shadow,
    admitted: 0,
    refused: 0,
    shadowRefused: 0,
    nearLimit: 0,
  };
  counters.shadow = rule.shadow;
  byName.set(name, counters);
  byRule.set(rule, counters);
  return counters;
}

/** Forgets what was counted of all other rules: these are the ones that there are now. */
export function keepRules({ byName }: RuleCounters, { rules, domains }: RuleSet): void {
  const names = new Set(rules.map(nameOf));
  for (const domain of domains.keys()) names.add(nameOf({ domain, label: OVERRIDE }));
  for (const name of byName.keys()) if (!names.has(name)) byName.delete(name);
}

/** The name of a rule over its versions. */
function nameOf(
  { domain, label, name }: Pick<Rule, "domain" | "label"> & Partial<Pick<Rule, "name">>,
): string {
  return `${domain}\0${label}\0${name ?? ""}`;
}
