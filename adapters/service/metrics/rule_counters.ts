/*
 * The verdicts of a service's rules, by rule, and by key where a rule is detailed. Counters stay
 * when a rule comes back in another version of the configuration. Once a rule is removed, its
 * counters go.
 */

import type { Rule, RuleSet } from "../../rules/rules.ts";
import { figuresOf, keyName, NO_VERDICTS, type RuleFigures } from "./figures_snapshot.ts";

/** The counts of a rule, or of a key of a detailed rule. */
export type Counters = { -readonly [Name in keyof RuleFigures]: RuleFigures[Name] };

/** Counters by the names of rules and keys, and by the rules of this version of the configuration. */
export interface RuleCounters {
  readonly byName: Map<string, Counters>;
  readonly byRule: WeakMap<Rule, Counters>;
  /** How many of the counters are for keys. */
  keys: number;
}

/** The most keys that are counted by themselves: others are counted for their rule as a whole. */
const MAX_KEYS_COUNTED = 1_000;

/** Makes counters of no rules yet. */
export function ruleCounters(): RuleCounters {
  return { byName: new Map(), byRule: new WeakMap(), keys: 0 };
}

/** The counters of a rule, or of a key of a detailed rule. */
export function countersOf(counters: RuleCounters, rule: Rule, key: string): Counters {
  return (rule.detailed ? named(counters, rule, key) : undefined) ??
    counters.byRule.get(rule) ?? ofRule(counters, rule);
}

function ofRule(counters: RuleCounters, rule: Rule): Counters {
  const own = named(counters, rule, undefined)!;
  own.shadow = rule.shadow;
  counters.byRule.set(rule, own);
  return own;
}

/** The counters of a name; `undefined` if there is no room for one more key. */
function named(
  counters: RuleCounters,
  { domain, label, name: rule = label, shadow }: Rule,
  key: string | undefined,
): Counters | undefined {
  const name = keyName({ domain, rule, key });
  const known = counters.byName.get(name);
  if (known !== undefined) return known;
  if (key !== undefined && counters.keys >= MAX_KEYS_COUNTED) return undefined;
  const own = { domain, rule, key, shadow, ...NO_VERDICTS, nearLimit: 0, overLimit: 0 };
  if (key !== undefined) counters.keys++;
  counters.byName.set(name, own);
  return own;
}

/** Forgets the counts of all rules except these, which are now in force. */
export function keepRules(counters: RuleCounters, rules: RuleSet): void {
  const isOf = figuresOf(rules);
  for (const [name, own] of counters.byName) if (!isOf(own)) counters.byName.delete(name);
  counters.keys = [...counters.byName.values()].filter(({ key }) => key !== undefined).length;
}
