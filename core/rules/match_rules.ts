/*
 * From a request's descriptors to the rules that hold for it, as Envoy's rate limit service does.
 *
 * A descriptor is a path of entries. At each level an exact value goes before patterns, in the
 * order of the file, and patterns go before the bare key. A match is never taken back, so an
 * exception to a rule is written beside it. A rule holds only where the descriptor ends.
 *
 * Source: envoyproxy/ratelimit, README, "Descriptor list definition" and "Rate limit definition".
 */

import type { Algorithm } from "../algorithm.ts";
import { sizesOf } from "../algorithms/sizes_of.ts";
import type { Domain, KeyRules, RuleNode } from "./compile_domain.ts";
import type { Rule } from "./compile_rule.ts";
import { entryText } from "./entry_text.ts";
import { matchesWildcard } from "./wildcard.ts";

/**
 * One entry of a descriptor. A value that is too long to be kept is matched unchanged, but counted
 * under another text, such as a hash of the value.
 */
export type DescriptorEntry = readonly [key: string, value: string, counted?: string];

/** The subject of a request: ordered entries, from the general to the particular. */
export interface Descriptor {
  /** At least one. */
  readonly entries: readonly DescriptorEntry[];
  /** Units to take, an integer of at least 0; default is the request's cost. */
  readonly cost?: number | undefined;
  /** A limit that holds in place of the rules' own; `"blocked"` refuses everything. */
  readonly limit?: Algorithm | "blocked" | undefined;
  /**
   * Descriptors with the same object here are readings of one thing in the request. If several of
   * them share a counter, only one is charged.
   */
  readonly readingOf?: object | undefined;
}

/** A rule that holds, and the counter it charges. */
export interface Match {
  readonly rule: Rule;
  /** The counter's key, the same for all that share it: `path=/v1/*,user=42`. */
  readonly key: string;
}

/** A rule that holds for a request, with the units to charge. */
export interface AppliedRule {
  readonly rule: Rule;
  readonly key: string;
  /** Units: the sum over all descriptors of the request with this counter. */
  readonly cost: number;
  /** The places of those descriptors in the request. */
  readonly descriptors: readonly number[];
  /** The limit that came with the descriptor, in place of the rule's. */
  readonly limit: Algorithm | "blocked" | undefined;
}

/**
 * Finds the rule that holds for a descriptor; `undefined` if no rule holds, or a rule without
 * limits.
 *
 * Each entry takes constant time, and as many pattern matches as its key has patterns.
 */
export function matchDescriptor(
  domain: Domain,
  entries: readonly DescriptorEntry[],
): Match | undefined {
  let level: Domain["level"] | undefined = domain.level;
  let node: RuleNode | undefined;
  let key = "";
  for (let index = 0; index < entries.length; index++) {
    const entry = entries[index]!;
    const rules: KeyRules | undefined = level?.get(entry[0]);
    node = rules === undefined ? undefined : nodeOf(rules, entry[1]);
    if (node === undefined) return undefined;
    const own: string = node.shared ?? node.textOf(entry[2] ?? entry[1]);
    key = index === 0 ? own : `${key},${own}`;
    level = node.children;
  }
  return node === undefined || node.rule.kind === "open" ? undefined : { rule: node.rule, key };
}

/** Where a value leads among the rules of its key. */
export function nodeOf(rules: KeyRules, value: string): RuleNode | undefined {
  const exact = rules.exact.size === 0 ? undefined : rules.exact.get(value);
  if (exact !== undefined) return exact;
  for (const { pattern, node } of rules.wildcards) {
    if (matchesWildcard(pattern, value)) return node;
  }
  return rules.bare;
}

/**
 * The rules that hold for a request: the rules of its descriptors, without the rules that another
 * rule replaces. Descriptors with the same counter are charged as one.
 *
 * @param cost Units of a descriptor that names none itself.
 */
export function matchRules(
  domain: Domain,
  descriptors: readonly Descriptor[],
  cost: number,
): readonly AppliedRule[] {
  const found: AppliedRule[] = [];
  let replaced: Set<string> | undefined;
  for (let index = 0; index < descriptors.length; index++) {
    const descriptor = descriptors[index]!;
    const applied = matchRule(domain, descriptor, index, cost);
    if (applied === undefined) continue;
    for (const name of applied.rule.replaces) (replaced ??= new Set()).add(name);
    const twin = twinOf(found, applied);
    if (twin === -1) found.push(applied);
    else if (!isReadAgain(descriptor, found[twin]!, descriptors)) {
      found[twin] = merged(found[twin]!, applied);
    }
  }
  return replaced === undefined
    ? found
    : found.filter(({ rule }) => rule.name === undefined || !replaced.has(rule.name));
}

function twinOf(found: readonly AppliedRule[], applied: AppliedRule): number {
  for (let index = 0; index < found.length; index++) {
    if (sameCounter(found[index]!, applied)) return index;
  }
  return -1;
}

/** The name that stands in place of a rule's label for a limit that comes with a descriptor. */
export const OVERRIDE = "override";

/** The rule of a limit that comes with a descriptor: the file has none for it. */
function overrideOf(domain: string): Rule {
  return {
    index: -1,
    domain,
    label: OVERRIDE,
    name: undefined,
    kind: "limited",
    limits: [],
    capacity: 0,
    shadow: false,
    quota: false,
    detailed: false,
    replaces: [],
    lookup: undefined,
  };
}

/** The rule that holds for one descriptor of a request, at its place there. */
export function matchRule(
  domain: Domain,
  { entries, cost: own, limit }: Descriptor,
  index: number,
  cost: number,
): AppliedRule | undefined {
  const match = limit === undefined
    ? matchDescriptor(domain, entries)
    : { rule: overrideOf(domain.name), key: keyOfEntries(entries) };
  if (match === undefined) return undefined;
  return { rule: match.rule, key: match.key, cost: own ?? cost, descriptors: [index], limit };
}

function keyOfEntries(entries: readonly DescriptorEntry[]): string {
  return entries.map(([key, value, counted = value]) => entryText(key, counted)).join(",");
}

function sameCounter(one: AppliedRule, other: AppliedRule): boolean {
  return one.rule.label === other.rule.label && one.key === other.key && idOf(one) === idOf(other);
}

/** The text that two limits of requests have in common if they decide alike. */
function idOf({ limit }: AppliedRule): string | undefined {
  return typeof limit === "object" ? `${limit.id} ${sizesOf(limit)}` : limit;
}

/** Whether a rule is already charged for another reading of the same thing. */
function isReadAgain(
  { readingOf }: Descriptor,
  { descriptors: places }: AppliedRule,
  descriptors: readonly Descriptor[],
): boolean {
  return readingOf !== undefined &&
    places.some((place) => descriptors[place]!.readingOf === readingOf);
}

function merged(one: AppliedRule, other: AppliedRule): AppliedRule {
  return {
    ...one,
    cost: Math.min(one.cost + other.cost, Number.MAX_SAFE_INTEGER),
    descriptors: [...one.descriptors, ...other.descriptors],
  };
}
