/*
 * What the rules of a service said, by rule, and by key where a rule is detailed. Counters stay when a
 * rule comes back in another version of the configuration, and go with a rule that is there no more.
 */

import { OVERRIDE, type Rule, type RuleSet } from "../../rules/rules.ts";
import { NO_VERDICTS, type RuleFigures } from "./figures_snapshot.ts";

/** What is counted of a rule. */
export type Counters = { -readonly [Name in keyof RuleFigures]: RuleFigures[Name] };

/** Counters by the names of rules, and by the rules of this version of the configuration. */
export interface RuleCounters {
  readonly byName: Map<string, Counters>;
  readonly byRule: WeakMap<Rule, Counters>;
  /** By the name of a detailed rule, and then by key. */
  readonly byKey: Map<string, Map<string, Counters>>;
  /** How many keys those are. */
  keys: number;
}

/** The most keys that are counted by themselves: others are counted for their rule as a whole. */
const MOST_KEYS_COUNTED = 1_000;

/** Makes counters of no rules yet. */
export function ruleCounters(): RuleCounters {
  return { byName: new Map(), byRule: new WeakMap(), byKey: new Map(), keys: 0 };
}

/** The counters of all rules and keys, as they are now. */
export function countedRules({ byName, byKey }: RuleCounters): readonly RuleFigures[] {
  const ofKeys = [...byKey.values()].flatMap((keys) => [...keys.values()]);
  return [...byName.values(), ...ofKeys].map((counters) => ({ ...counters }));
}

/** The counters of a rule, or of a key of a detailed rule. */
export function countersOf(counters: RuleCounters, rule: Rule, key: string): Counters {
  return (rule.detailed ? ofKey(counters, rule, key) : undefined) ??
    counters.byRule.get(rule) ?? ofRule(counters, rule);
}

function ofRule({ byName, byRule }: RuleCounters, rule: Rule): Counters {
  const name = nameOf(rule);
  const counters = byName.get(name) ?? noCounts(rule);
  counters.shadow = rule.shadow;
  byName.set(name, counters);
  byRule.set(rule, counters);
  return counters;
}

/** The counters of a key; `undefined` if there is no room for one more. */
function ofKey(counters: RuleCounters, rule: Rule, key: string): Counters | undefined {
  const name = nameOf(rule);
  const keys = counters.byKey.get(name) ?? new Map<string, Counters>();
  const known = keys.get(key);
  if (known !== undefined || counters.keys >= MOST_KEYS_COUNTED) return known;
  const own = noCounts(rule, key);
  counters.byKey.set(name, keys.set(key, own));
  counters.keys++;
  return own;
}

function noCounts({ domain, name, label, shadow }: Rule, key?: string): Counters {
  return { domain, rule: name ?? label, key, shadow, ...NO_VERDICTS, nearLimit: 0 };
}

/** Forgets what was counted of all other rules: these are the ones that there are now. */
export function keepRules(counters: RuleCounters, { rules, domains }: RuleSet): void {
  const { byName, byKey } = counters;
  const names = new Set(rules.map(nameOf));
  for (const domain of domains.keys()) names.add(nameOf({ domain, label: OVERRIDE }));
  for (const name of byName.keys()) if (!names.has(name)) byName.delete(name);
  for (const [name, keys] of byKey) {
    if (names.has(name)) continue;
    byKey.delete(name);
    counters.keys -= keys.size;
  }
}

/** The name of a rule over its versions. */
function nameOf(
  { domain, label, name }: Pick<Rule, "domain" | "label"> & Partial<Pick<Rule, "name">>,
): string {
  return `${domain}\0${label}\0${name ?? ""}`;
}
