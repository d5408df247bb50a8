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

/**
 * A rule that holds for a request, with the units to charge.
 *
 * @typeParam Bound The caller's own form of the limits that decide.
 */
export interface AppliedRule<Bound> {
  readonly rule: Rule;
  readonly key: string;
  /** Units: the sum over all descriptors of the request with this counter. */
  readonly cost: number;
  /** The places of those descriptors in the request. */
  readonly descriptors: readonly number[];
  /** The limit that came with the descriptor, in place of the rule's. */
  readonly limit: Descriptor["limit"];
  /** The limits that decide. */
  readonly bound: Bound;
}

/** The limits that decide for a rule: its own, or the limit that came with the descriptor. */
export type BoundOf<Bound> = (rule: Rule, limit: Descriptor["limit"]) => Bound;

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
  return rules.wildcards.length === 0 ? rules.bare : wildcardNodeOf(rules, value);
}

function wildcardNodeOf({ wildcards, bare }: KeyRules, value: string): RuleNode | undefined {
  return wildcards.find(({ pattern }) => matchesWildcard(pattern, value))?.node ?? bare;
}

/**
 * The rules that hold for a request: the rules of its descriptors, without the rules that another
 * rule replaces. Descriptors with the same counter are charged as one.
 *
 * @param cost Units of a descriptor that names none itself.
 * @param boundOf Finds the limits that decide.
 */
export function matchRules<Bound>(
  domain: Domain,
  descriptors: readonly Descriptor[],
  cost: number,
  boundOf: BoundOf<Bound>,
): readonly AppliedRule<Bound>[] {
  if (descriptors.length === 1) {
    const applied = matchRule(domain, descriptors[0]!, 0, cost, boundOf);
    return applied === undefined ? [] : [applied];
  }
  // An array that grows takes room for many more.
  const found = new Array<AppliedRule<Bound>>(descriptors.length);
  let count = 0;
  let isReplaced = false;
  for (let index = 0; index < descriptors.length; index++) {
    const descriptor = descriptors[index]!;
    const applied = matchRule(domain, descriptor, index, cost, boundOf);
    if (applied === undefined) continue;
    if (applied.rule.replaces.length > 0) isReplaced = true;
    const twin = twinOf(found, count, applied);
    if (twin === -1) found[count++] = applied;
    else if (!isReadAgain(descriptor, found[twin]!, descriptors)) {
      found[twin] = merged(found[twin]!, applied);
    }
  }
  if (count < found.length) found.length = count;
  return isReplaced ? withoutReplaced(found) : found;
}

/** The rule that holds for one descriptor of a request, at its place there. */
function matchRule<Bound>(
  domain: Domain,
  { entries, cost: own, limit }: Descriptor,
  index: number,
  cost: number,
  boundOf: BoundOf<Bound>,
): AppliedRule<Bound> | undefined {
  const match = limit === undefined
    ? matchDescriptor(domain, entries)
    : { rule: overrideOf(domain.name), key: keyOfEntries(entries) };
  if (match === undefined) return undefined;
  const { rule, key } = match;
  const bound = boundOf(rule, limit);
  return { rule, key, cost: own ?? cost, descriptors: placeOf(index), limit, bound };
}

const PLACES: readonly (readonly number[])[] = Array.from({ length: 8 }, (_, index) => [index]);

/** A list of one place. Requests share those of their first descriptors. */
function placeOf(index: number): readonly number[] {
  return PLACES[index] ?? [index];
}

function withoutReplaced<Bound>(
  found: readonly AppliedRule<Bound>[],
): readonly AppliedRule<Bound>[] {
  const replaced = new Set(found.flatMap(({ rule }) => rule.replaces));
  return found.filter(({ rule }) => rule.name === undefined || !replaced.has(rule.name));
}

/** The place of the rule with the same counter; -1 if no other rule has it. */
function twinOf(
  found: readonly AppliedRule<unknown>[],
  count: number,
  applied: AppliedRule<unknown>,
): number {
  for (let index = 0; index < count; index++) {
    if (sameCounter(found[index]!, applied)) return index;
  }
  return -1;
}

function sameCounter(one: AppliedRule<unknown>, other: AppliedRule<unknown>): boolean {
  return one.key === other.key && one.rule.label === other.rule.label && idOf(one) === idOf(other);
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

function keyOfEntries(entries: readonly DescriptorEntry[]): string {
  return entries.map(([key, value, counted = value]) => entryText(key, counted)).join(",");
}

/** The text that two limits of requests have in common if they decide alike. */
function idOf({ limit }: AppliedRule<unknown>): string | undefined {
  return typeof limit === "object" ? `${limit.id} ${sizesOf(limit)}` : limit;
}

/** Whether a rule is already charged for another reading of the same thing. */
function isReadAgain(
  { readingOf }: Descriptor,
  { descriptors: places }: AppliedRule<unknown>,
  descriptors: readonly Descriptor[],
): boolean {
  return readingOf !== undefined &&
    places.some((place) => descriptors[place]!.readingOf === readingOf);
}

function merged<Bound>(
  one: AppliedRule<Bound>,
  other: AppliedRule<Bound>,
): AppliedRule<Bound> {
  return {
    ...one,
    cost: Math.min(one.cost + other.cost, Number.MAX_SAFE_INTEGER),
    descriptors: [...one.descriptors, ...other.descriptors],
  };
}
