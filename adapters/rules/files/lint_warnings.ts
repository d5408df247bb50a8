import {
  covers,
  type Domain,
  type Rule,
  type RuleOptions,
  unreachableLimits,
  wildcardOf,
} from "../../../core/rules/rules.ts";
import type { DataPath } from "./rule_problem.ts";
import type { RuleFile } from "./read_rules.ts";

/** Something that is allowed, but hardly meant. */
export interface LintWarning {
  readonly path: DataPath;
  readonly message: string;
}

/** What in a file is hardly meant: limits that never bind, patterns that nothing reaches, ... */
export function lintWarnings(file: RuleFile, domain: Domain): readonly LintWarning[] {
  const doubts: LintWarning[] = [];
  const names = new Set(domain.rules.flatMap(({ name }) => name ?? []));
  // Rules are compiled in the order in which this walk meets them.
  let next = 0;

  function walk(written: readonly RuleOptions[], path: DataPath): void {
    written.forEach((options, place) => {
      const here = [...path, place];
      doubtsOfRule(options, domain.rules[next++]!, here);
      doubtsOfPattern(written, place, here);
      if (options.rules !== undefined) walk(options.rules, [...here, "rules"]);
    });
  }

  function doubtsOfRule(options: RuleOptions, rule: Rule, path: DataPath): void {
    for (const { unreachable, reachedFirst } of unreachableLimits(rule.limits)) {
      const [one, other] = [rule.limits[unreachable]!.name, rule.limits[reachedFirst]!.name];
      const message = `this limit (${one}) can never bind, as ${other} is always reached first`;
      doubts.push({ path: [...path, "limits", unreachable], message });
    }
    (options.replaces ?? []).forEach((name, place) => {
      if (names.has(name)) return;
      const message = `no rule of this domain is called ${name}`;
      doubts.push({ path: [...path, "replaces", place], message });
    });
    if (rule.shadow && rule.kind !== "limited" && rule.kind !== "blocked") {
      doubts.push({ path: [...path, "shadow"], message: "a shadow needs limits to report on" });
    }
  }

  function doubtsOfPattern(
    written: readonly RuleOptions[],
    place: number,
    path: DataPath,
  ): void {
    const { key, value } = written[place]!;
    const pattern = value === undefined ? undefined : wildcardOf(value);
    if (pattern === undefined) return;
    const earlier = written.slice(0, place).find((other) => {
      const wider = other.key === key && other.value !== undefined && wildcardOf(other.value);
      return wider && covers(wider, pattern);
    });
    if (earlier === undefined) return;
    const message = `nothing reaches this pattern, as ${earlier.value} comes before it`;
    doubts.push({ path: [...path, "value"], message });
  }

  walk(file.rules, ["rules"]);
  (file.routes ?? []).forEach(({ cost = 1 }, place) => {
    const capacities = domain.rules.flatMap((rule) => rule.kind === "limited" ? rule.capacity : []);
    if (cost > Math.max(...capacities, 0) && capacities.length > 0) {
      const message = `no limit of this domain can ever admit a cost of ${cost}`;
      doubts.push({ path: ["routes", place, "cost"], message });
    }
  });
  return doubts;
}
