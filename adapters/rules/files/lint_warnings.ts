/*
 * What in valid rules is hardly meant, found before it surprises: nothing of it keeps them from being
 * used.
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
  wildcardOf,
} from "../../../core/rules/rules.ts";
import type { RouteOptions } from "./compile_routes.ts";
import type { RuleFile } from "./rule_file.ts";

/** What in a file is hardly meant: limits that never bind, patterns that nothing reaches, ... */
export function lintWarnings(file: RuleFile, domain: Domain): readonly RuleFault[] {
  const names = new Set(domain.rules.flatMap(({ name }) => name ?? []));
  // Rules are compiled in the order in which this walk meets them.
  const compiled = domain.rules.values();

  function walk(written: readonly RuleOptions[], path: RuleFault["path"]): readonly RuleFault[] {
    const patternWarnings = unreachedPatterns();
    return written.flatMap((options, place) => {
      const here = [...path, place];
      const rule = compiled.next().value!;
      return [
        ...unreachableLimitWarnings(rule, here),
        ...replacesWarnings(options, names, here),
        ...shadowWarnings(rule, here),
        ...patternWarnings(options, here),
        ...walk(options.rules ?? [], [...here, "rules"]),
      ];
    });
  }

  return [...walk(file.rules, ["rules"]), ...costWarnings(file.routes ?? [], domain)];
}

function unreachableLimitWarnings({ limits }: Rule, path: RuleFault["path"]): readonly RuleFault[] {
  return unreachableLimits(limits).map(({ unreachable, reachedFirst }) => {
    const [one, other] = [limits[unreachable]!.name, limits[reachedFirst]!.name];
    const message = `this limit (${one}) can never bind, as ${other} is always reached first`;
    return { path: [...path, "limits", unreachable], message };
  });
}

function replacesWarnings(
  { replaces = [] }: RuleOptions,
  names: ReadonlySet<string>,
  path: RuleFault["path"],
): readonly RuleFault[] {
  return replaces.flatMap((name, place) =>
    names.has(name) ? [] : [{
      path: [...path, "replaces", place],
      message: `no rule of this domain is called ${name}`,
    }]
  );
}

function shadowWarnings({ shadow, kind }: Rule, path: RuleFault["path"]): readonly RuleFault[] {
  if (!shadow || kind === "limited" || kind === "blocked") return [];
  return [{ path: [...path, "shadow"], message: "a shadow needs limits to report on" }];
}

/** Makes what finds, rule by rule of a level, the patterns that an earlier one leaves nothing to. */
function unreachedPatterns(): (rule: RuleOptions, path: RuleFault["path"]) => readonly RuleFault[] {
  const earlier = new Map<string, EarlierPatterns>();
  return ({ key, value }, path) => {
    const pattern = value === undefined ? undefined : wildcardOf(value);
    if (pattern === undefined) return [];
    const patterns = earlier.get(key) ?? earlierPatterns();
    earlier.set(key, patterns);
    const wider = addPattern(patterns, pattern);
    if (wider === undefined) return [];
    const message = `nothing reaches this pattern, as ${wider.text} comes before it`;
    return [{ path: [...path, "value"], message }];
  };
}

function costWarnings(routes: readonly RouteOptions[], { rules }: Domain): readonly RuleFault[] {
  const capacities = rules.flatMap(({ kind, capacity }) => kind === "limited" ? capacity : []);
  if (capacities.length === 0) return [];
  const most = Math.max(...capacities, 0);
  return routes.flatMap(({ cost = 1 }, place) =>
    cost <= most ? [] : [{
      path: ["routes", place, "cost"],
      message: `no limit of this domain can ever admit a cost of ${cost}`,
    }]
  );
}
