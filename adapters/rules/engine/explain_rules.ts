/*
 * Why a request is decided as it is, in words: for the command `explain` and for people who read
 * its output.
 */

import { durationText } from "../../../core/application_support.ts";
import type { Decision } from "../../../core/decision.ts";
import {
  type Descriptor,
  type DescriptorEntry,
  type Domain,
  matchDescriptor,
  nodeOf,
  type RuleVerdict,
  type Verdict,
} from "../../../core/rules/rules.ts";
import type { RuleNode } from "../../../core/rules/compile_domain.ts";

/**
 * The path of a descriptor through the rules, a line for each step: the rule that matched, and the
 * rules that could have matched.
 */
export function explainMatch(domain: Domain, entries: readonly DescriptorEntry[]): string[] {
  const lines: string[] = [];
  let level: Domain["level"] | undefined = domain.level;
  for (const [index, [key, value]] of entries.entries()) {
    const indent = "  ".repeat(index + 1);
    const [node, why] = chosen(level, key, value);
    lines.push(`${indent}${key}=${value}: ${why}`);
    if (node === undefined) {
      return [...lines, `${indent}no rule applies: the descriptor is allowed and not counted`];
    }
    level = node.children;
  }
  const match = matchDescriptor(domain, entries);
  return [
    ...lines,
    match === undefined
      ? "  the rule has no limits: the descriptor is allowed and not counted"
      : `  its counter is ${match.key}`,
  ];
}

/** The rule that an entry leads to, and why it was chosen; or why there is no rule. */
function chosen(
  level: Domain["level"] | undefined,
  key: string,
  value: string,
): readonly [RuleNode | undefined, string] {
  const rules = level?.get(key);
  if (rules === undefined) {
    if (level === undefined || level.size === 0) {
      return [undefined, "the rule above has no rules inside"];
    }
    const known = [...level.keys()].join(", ");
    return [undefined, `no rule at this level has the key ${key}; its keys are ${known}`];
  }
  const node = nodeOf(rules, value);
  if (node === undefined) {
    const values = [...rules.exact.keys(), ...rules.wildcards.map(({ pattern }) => pattern.text)];
    return [undefined, `no rule matches this value; the values are ${values.join(", ")}`];
  }
  const found = rules.wildcards.find((each) => each.node === node);
  const why = node === rules.bare ? "any value" : "this exact value";
  const how = found === undefined ? why : `the pattern ${found.pattern.text}`;
  return [node, `the rule ${node.rule.label} matches ${how}`];
}

/** The rules that match but do not apply, because another matching rule replaces them. */
export function explainReplaced(domain: Domain, descriptors: readonly Descriptor[]): string[] {
  const matched = descriptors.flatMap(({ entries }) =>
    matchDescriptor(domain, entries)?.rule ?? []
  );
  return matched.flatMap(({ name }) => {
    const by = matched.find(({ replaces }) => name !== undefined && replaces.includes(name));
    return by === undefined
      ? []
      : [`rule ${name} does not apply, because ${by.name ?? by.label} replaces it`];
  });
}

/** A verdict in words, a line for each rule and limit. */
export function explainVerdict(
  { allowed, rules }: Verdict,
  descriptors: readonly Descriptor[],
): string[] {
  if (rules.length === 0) return ["allowed, because no rule with limits applies"];
  const lines = rules.flatMap((each) => explainRule(each, descriptors));
  if (allowed) return [...lines, "allowed"];
  const by = rules.flatMap(({ rule, allowed }) => allowed ? [] : rule.name ?? rule.label);
  return [...lines, `refused by ${by.join(" and ")}`];
}

function explainRule(
  { rule, key, cost, decision, limits, allowed }: RuleVerdict,
  descriptors: readonly Descriptor[],
): string[] {
  const shadow = rule.shadow ? " (shadow)" : "";
  const ofKey = descriptors.length > 1 ? ` for ${key}` : "";
  const head = `rule ${rule.name ?? rule.label}${ofKey}${shadow}`;
  if (decision === undefined) return [`${head}: unlimited`];
  if (limits.length === 0) return [`${head}: blocked`];
  const parts = limits.length === 1 ? [decision] : decision.parts ?? [decision];
  const lines = limits.map((limit, index) => {
    const { limit: units, period, burst } = limit.policies[0]!;
    const [own, every, zone] = limit.id.split("/");
    const span = own === "calendarWindow" ? `${every} in ${zone}` : durationText(period);
    const what = `${own} ${units} per ${span}${burst === units ? "" : `, burst ${burst}`}`;
    return `  ${limit.name} (${what}): ${stateText(parts[index]!, cost, burst)}`;
  });
  return [`${head}: ${allowed ? "allows" : "refuses"}`, ...lines];
}

function stateText(decision: Decision, cost: number, burst: number): string {
  const { allowed, remaining, retryAfter, resetAfter } = decision;
  const fresh = resetAfter === 0 ? "unused" : `full again in ${durationText(resetAfter)}`;
  if (allowed) return `allows; ${remaining} of ${burst} left, ${fresh}`;
  if (retryAfter === Infinity) {
    return `refuses, because the cost of ${cost} exceeds the capacity of ${burst}`;
  }
  return `refuses: the cost is ${cost}, and ${remaining} of ${burst} are left; retry in ${
    durationText(retryAfter)
  }, ${fresh}`;
}
