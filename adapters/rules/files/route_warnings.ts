/*
 * Finds likely mistakes between the routes of a file and its rules: a descriptor that no rule
 * limits is admitted, so a mistyped key means that an endpoint has no limit at all.
 *
 * A value with a placeholder may be any text, so it may lead to every rule of its key. Hence no
 * warning is about a rule that a request could meet.
 */

import { hintAt } from "../../../core/application_support.ts";
import {
  type Domain,
  nodeOf,
  type Rule,
  type RuleFault,
  type RuleOptions,
} from "../../../core/rules/rules.ts";
import type { KeyRules, RuleNode } from "../../../core/rules/compile_domain.ts";
import type { RouteOptions } from "./compile_routes.ts";
import type { RuleFile } from "./rule_file.ts";

/** The entries of a route's descriptor, as they are written. */
type Template = readonly (readonly [key: string, value: string])[];

/** The warnings about the routes of a file, and about rules that its routes miss by a letter. */
export function* routeWarnings(file: RuleFile, domain: Domain): Generator<RuleFault> {
  const { routes = [] } = file;
  const limited = domain.rules.filter(({ kind }) => kind === "limited");
  for (const [index, route] of routes.entries()) {
    const place = ["routes", index];
    yield* requestWarnings(route, limited, place);
    for (const [nth, descriptor] of route.descriptors.entries()) {
      const message = descriptorWarning(Object.entries(descriptor), domain);
      if (message !== undefined) yield { path: [...place, "descriptors", nth], message };
    }
  }
  if (routes.length > 0) yield* missedRules(file.rules, routes, domain);
}

/** Letters of a pattern that are neither a name nor an expression. */
const LETTERS_REGEXP = /:[A-Za-z_$][\w$]*|\((?:[^()\\]|\\.)+\)|(\p{Letter})/gu;

/** The warnings about the requests that a route matches, and their cost. */
function* requestWarnings(
  { path, ignoreCase, cost = 1 }: RouteOptions,
  limited: readonly Rule[],
  place: RuleFault["path"],
): Generator<RuleFault> {
  if (limited.length > 0 && limited.every(({ capacity }) => capacity < cost)) {
    const message = `every limit of this domain is too small for a cost of ${cost}`;
    yield { path: [...place, "cost"], message };
  }
  const hasLetters = [...path?.matchAll(LETTERS_REGEXP) ?? []].some(([, letter]) =>
    letter !== undefined
  );
  if (hasLetters && ignoreCase === undefined) {
    const message =
      "this path is case-sensitive, but Express, Koa and others ignore case, so a client " +
      "can avoid the limit by another spelling: set ignoreCase to true, or to false if your server " +
      "is case-sensitive";
    yield { path: [...place, "path"], message };
  }
}

/** The warning about a descriptor that no rule limits; `undefined` if a rule may limit it. */
function descriptorWarning(template: Template, { level }: Domain): string | undefined {
  let open: Rule | undefined;
  for (const { rule } of endsOf(template, level)) {
    if (rule.kind !== "open") return undefined;
    open ??= rule;
  }
  if (open !== undefined) {
    return `this descriptor is not limited, because it ends at ${open.label}, which has no limits`;
  }
  const [key] = template[0] ?? [""];
  const meant = level.has(key) ? "" : hintAt(key, [...level.keys()]);
  const written = template.map((entry) => entry.join("=")).join(" ");
  return `this descriptor is not limited, because no rule matches ${written}${meant}`;
}

/** The places in the tree of rules at which a descriptor may end. */
function* endsOf(
  [first, ...rest]: Template,
  level: Domain["level"] | undefined,
): Generator<RuleNode> {
  if (first === undefined) return;
  const [key, value] = first;
  const rules = level?.get(key);
  if (rules === undefined) return;
  for (const node of isFixed(value) ? [nodeOf(rules, value)] : nodesOf(rules)) {
    if (node === undefined) continue;
    if (rest.length === 0) yield node;
    else yield* endsOf(rest, node.children);
  }
}

/** Whether a value is the same for all requests. */
function isFixed(value: string): boolean {
  return !value.includes("{");
}

function* nodesOf({ exact, wildcards, bare }: KeyRules): Generator<RuleNode> {
  if (bare !== undefined) yield bare;
  yield* exact.values();
  for (const { node } of wildcards) yield node;
}

/**
 * The warnings about rules for the first entry that no route leads to, though one has the same key
 * and another value, or a key like theirs. A rule for another key may be meant for programs or for
 * Envoy, which send descriptors of their own.
 */
function* missedRules(
  written: readonly RuleOptions[],
  routes: readonly RouteOptions[],
  { level, rules }: Domain,
): Generator<RuleFault> {
  // The label of a rule inside another one has a comma.
  const compiled = rules.filter(({ label }) => !label.includes(","));
  const firsts = routes.flatMap(({ descriptors }) => descriptors)
    .flatMap((descriptor) => Object.entries(descriptor).slice(0, 1));
  const keys = [...new Set(firsts.map(([key]) => key))];
  const open = new Set(firsts.flatMap(([key, value]) => isFixed(value) ? [] : key));
  const met = new Set(firsts.map(([key, value]) => {
    const ofKey = level.get(key);
    return ofKey === undefined ? undefined : nodeOf(ofKey, value)?.rule;
  }));
  for (const [index, options] of written.entries()) {
    const rule = compiled[index]!;
    if (open.has(options.key) || met.has(rule)) continue;
    const isMade = keys.includes(options.key);
    const meant = isMade ? "" : hintAt(options.key, keys);
    if (!isMade && meant === "") continue;
    const message = `no route makes a descriptor that matches ${rule.label}${meant}`;
    yield { path: ["rules", index], message };
  }
}
