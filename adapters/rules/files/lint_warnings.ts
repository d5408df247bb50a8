/*
 * Finds likely mistakes in valid rules. They do not keep the rules from being used.
 */

import {
  addPattern,
  type Domain,
  type EarlierPatterns,
  earlierPatterns,
  type Rule,
  type RuleFault,
  type RuleOptions,
  unreachableLimits,
  type Wildcard,
  wildcardOf,
} from "../../../core/rules/rules.ts";
import { routeWarnings } from "./route_warnings.ts";
import type { RuleFile } from "./rule_file.ts";

/** The warnings about a file: limits that never bind, patterns that nothing reaches, ... */
export function* lintWarnings(file: RuleFile, domain: Domain): Generator<RuleFault> {
  const names = new Set(domain.rules.flatMap(({ name }) => name ?? []));
  // Rules are compiled in the order in which this walk meets them.
  const compiled = domain.rules.values();

  function* walk(written: readonly RuleOptions[], path: RuleFault["path"]): Generator<RuleFault> {
    const earlier = new Map<string, EarlierPatterns>();
    for (const [index, options] of written.entries()) {
      const here = [...path, index];
      yield* ruleWarnings(options, compiled.next().value!, names, here);
      yield* valueWarnings(options, written, here);
      const wider = widerPattern(earlier, options);
      if (wider !== undefined) {
        const message = `this pattern never matches, because ${wider.text} comes before it`;
        yield { path: [...here, "value"], message };
      }
      yield* walk(options.rules ?? [], [...here, "rules"]);
    }
  }

  yield* walk(file.rules, ["rules"]);
  yield* routeWarnings(file, domain);
}

const NETWORK_REGEXP = /^(?:\d+\.\d+\.\d+\.\d+|[\da-f:]*:[\da-f:]*)\/(\d+)$/i;

/** The warnings about a rule for one value, among the rules of its level. */
function* valueWarnings(
  { key, value, limits, unlimited, blocked, rules = [] }: RuleOptions,
  level: readonly RuleOptions[],
  path: RuleFault["path"],
): Generator<RuleFault> {
  if (value === undefined) return;
  const bits = NETWORK_REGEXP.exec(value)?.[1];
  const isClient = value.includes(":") ? Number(bits) >= 32 : Number(bits) === 32;
  if (bits !== undefined && !isClient) {
    const message = "a value is compared as text, so no address in this network matches";
    yield { path: [...path, "value"], message };
  }
  const decides = limits !== undefined || unlimited === true || blocked === true;
  const isGeneric = (other: RuleOptions) =>
    other.key === key && other.value === undefined && other.limits !== undefined;
  // A rule without rules below it is an intended exception.
  if (!decides && rules.length > 0 && level.some(isGeneric)) {
    const message =
      `this rule has no limits, and calls for this value alone pass those of ${key} ` +
      "without a value";
    yield { path: [...path, "value"], message };
  }
}

function* ruleWarnings(
  { replaces = [] }: RuleOptions,
  { limits, shadow, kind }: Rule,
  names: ReadonlySet<string>,
  path: RuleFault["path"],
): Generator<RuleFault> {
  for (const { unreachable, reachedFirst } of unreachableLimits(limits)) {
    const [one, other] = [limits[unreachable]!.name, limits[reachedFirst]!.name];
    const message = `this limit (${one}) has no effect, because ${other} is always reached first`;
    yield { path: [...path, "limits", unreachable], message };
  }
  for (const [index, name] of replaces.entries()) {
    if (names.has(name)) continue;
    const message = `this domain has no rule named ${name}`;
    yield { path: [...path, "replaces", index], message };
  }
  if (shadow && kind !== "limited" && kind !== "blocked") {
    yield { path: [...path, "shadow"], message: "a shadow rule needs limits" };
  }
}

/**
 * The pattern of an earlier rule of the level that matches everything that this rule's pattern
 * matches.
 */
function widerPattern(
  earlier: Map<string, EarlierPatterns>,
  { key, value }: RuleOptions,
): Wildcard | undefined {
  const pattern = value === undefined ? undefined : wildcardOf(value);
  if (pattern === undefined) return undefined;
  const patterns = earlier.get(key) ?? earlierPatterns();
  earlier.set(key, patterns);
  return addPattern(patterns, pattern);
}
