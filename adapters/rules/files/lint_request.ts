/*
 * Whether rules know what a request asks: a descriptor that no rule matches is admitted, so a
 * mistyped key means that there is no limit at all.
 */

import { hintAt } from "../../../core/application_support.ts";
import {
  type DescriptorEntry,
  matchDescriptor,
  type RuleOptions,
} from "../../../core/rules/rules.ts";
import type { RuleSet } from "./read_rules.ts";

/**
 * Finds why no rule limits a request, or a part of it.
 *
 * @param request The request as programs send it to the engine or to the service.
 * @param rules The rules that should limit it.
 * @returns A sentence for each fault; none if each descriptor meets a rule.
 */
export function lintRequest(request: unknown, rules: RuleSet): readonly string[] {
  if (typeof request !== "object" || request === null) return ["it must be a JSON object"];
  const [only] = rules.domains.keys();
  const { domain: given = only, descriptors, ...single } = request as Record<string, unknown>;
  const name = String(given);
  const domain = rules.domains.get(name);
  if (domain === undefined) {
    return [`no rules have the domain ${name}${hintAt(name, [...rules.domains.keys()])}`];
  }
  const keys = rules.files.filter(({ domain }) => domain === name)
    .flatMap(({ rules }) => keysOf(rules));
  const all: readonly unknown[] = Array.isArray(descriptors) ? descriptors : [single];
  return all.flatMap((descriptor) => {
    const entries = entriesOf(descriptor);
    if (entries.length === 0) {
      const needed =
        'a request must have entries, such as {"entries":{"user":"42"}}, or descriptors';
      return [`${needed} with entries`];
    }
    const unknown = entries.filter(([key]) => !keys.includes(key));
    if (unknown.length > 0) {
      return unknown.map(([key]) => `no rule has the key ${key}${hintAt(key, keys)}`);
    }
    if (matchDescriptor(domain, entries) !== undefined) return [];
    return [`no rule matches ${entries.map((entry) => entry.join("=")).join(" ")}`];
  });
}

/** The entries of a descriptor, which are pairs or an object. */
function entriesOf(descriptor: unknown): readonly DescriptorEntry[] {
  const { entries } = (descriptor ?? {}) as { readonly entries?: unknown };
  const pairs = Array.isArray(entries)
    ? entries.filter((entry) => Array.isArray(entry))
    : Object.entries(entries ?? {});
  return pairs.map(([key, value]): DescriptorEntry => [String(key), String(value)]);
}

function keysOf(rules: readonly RuleOptions[]): readonly string[] {
  return rules.flatMap(({ key, rules = [] }) => [key, ...keysOf(rules)]);
}
