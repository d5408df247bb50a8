/*
 * Draws valid rules and descriptors that often match them, so that a rule engine can be compared
 * with the pure functions in core/rules. All words come from small pools, so that rules overlap.
 */

import fc from "fast-check";
import {
  algorithmOf,
  type Descriptor,
  type DomainOptions,
  type LimitOptions,
  type RuleOptions,
} from "../../core/rules/rules.ts";
import { kinds } from "../../adapters/testing/arbitraries/subjects.ts";
import { rateOptions } from "../../adapters/testing/arbitraries/policies.ts";

const KEYS = ["path", "user", "a=b,c%"];
const VALUES = ["/v1/a", "/v1/b", "x", "", "a=b,c%"];
const PATTERNS = ["*", "/v1/*", "*b", "/*/a"];

/**
 * Limits as they are written in rules: every algorithm by its name, with awkward options.
 */
function limitOptions(): fc.Arbitrary<LimitOptions> {
  const unnamed = rateOptions().map((drawn) => ({ ...drawn, algorithm: undefined }));
  return fc.oneof(unnamed, ...Object.values(kinds).map((kind) => kind.limits()));
}

/**
 * Valid rules of a domain: up to three levels; exact values, patterns and keys without a value; with
 * limits, unlimited, blocked, or with nested rules only; in shadow mode, under a quota, with shared
 * counters, and rules that replace each other.
 */
export function ruleSets(): fc.Arbitrary<DomainOptions> {
  return fc.record({
    domain: fc.constantFrom("api", "mongo", "a=b,c%"),
    charge: fc.constantFrom(undefined, "together" as const, "each" as const),
    changes: fc.constantFrom(undefined, "keep" as const, "proportional" as const, "reset" as const),
    rules: level(3),
  });
}

/**
 * Descriptors of requests to a domain: most of them follow the path of one of its rules.
 *
 * @param options The rules, such as `ruleSets` draws.
 */
export function descriptors(options: DomainOptions): fc.Arbitrary<Descriptor[]> {
  const stray = fc.tuple(fc.constantFrom(...KEYS), fc.constantFrom(...VALUES, "/v1/c"));
  const strays = fc.array(stray, { minLength: 1, maxLength: 3 });
  const paths = pathsOf(options.rules);
  const followed = paths.length === 0
    ? strays
    : fc.constantFrom(...paths).chain((path) =>
      fc.tuple(...path.map(({ key, value }) => fc.tuple(fc.constant(key), valuesLike(value))))
    );
  const descriptor = fc.record({
    entries: fc.oneof({ weight: 4, arbitrary: followed }, { weight: 1, arbitrary: strays }),
    cost: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
  });
  return fc.array(descriptor, { minLength: 1, maxLength: 3 });
}

/** The path to each rule, from the top level. */
function pathsOf(rules: readonly RuleOptions[]): RuleOptions[][] {
  return rules.flatMap((rule) => [
    [rule],
    ...pathsOf(rule.rules ?? []).map((path) => [rule, ...path]),
  ]);
}

/** Values that a rule with this value matches; any value if the rule has none. */
function valuesLike(value: string | undefined): fc.Arbitrary<string> {
  if (value === undefined) return fc.constantFrom(...VALUES, "/v1/c");
  return fc.constantFrom("", "a", "/b").map((text) => value.replaceAll("*", text));
}

function level(depth: number): fc.Arbitrary<RuleOptions[]> {
  return fc.uniqueArray(rule(depth), {
    maxLength: depth === 3 ? 4 : 2,
    selector: ({ key, value }) => JSON.stringify([key, value]),
  });
}

function rule(depth: number): fc.Arbitrary<RuleOptions> {
  const value = fc.constantFrom(undefined, ...VALUES, ...PATTERNS);
  const flag = fc.constantFrom(undefined, undefined, true, false);
  const name = fc.constantFrom(undefined, undefined, "one", "two");
  const verdict = fc.oneof(
    limits().map((drawn) => ({ limits: drawn })),
    fc.constantFrom({}, { unlimited: true }, { blocked: true }),
  );
  return fc.record({
    key: fc.constantFrom(...KEYS),
    value,
    name,
    shadow: flag,
    quota: flag,
    share: flag,
    replaces: fc.constantFrom(undefined, [], ["one"], ["two"]),
    verdict,
    rules: depth === 1 ? fc.constant(undefined) : fc.option(level(depth - 1), { nil: undefined }),
  }).map(({ verdict, ...drawn }) => ({
    ...drawn,
    ...verdict,
    share: drawn.value?.includes("*") === true ? drawn.share : undefined,
    replaces: drawn.replaces?.filter((replaced) => replaced !== drawn.name),
  }));
}

/** One or two different limits. */
function limits(): fc.Arbitrary<LimitOptions[]> {
  return fc.uniqueArray(limitOptions(), {
    minLength: 1,
    maxLength: 2,
    selector: (drawn) => algorithmOf(drawn).id,
  });
}
