/*
 * Compiles one rule of a domain: from its written form to the limits that decide, with all of its
 * faults. The domain compiles the rules below it, and gives it its place among other rules.
 */

import type { Algorithm } from "../algorithm.ts";
import type { algorithmOf, LimitOptions } from "./limit_options.ts";
import type { RuleOptions } from "./rule_options.ts";

/** How a rule treats the requests that it matches. */
export type RuleKind = "limited" | "unlimited" | "blocked" | "open";

/** A rule ready to decide. */
export interface Rule {
  /** Its index among the rules of all domains loaded with it. */
  readonly index: number;
  /** Its domain. */
  readonly domain: string;
  /** Its path in the file, which is the same in every version of the file: `path=/v1/*,user`. */
  readonly label: string;
  /** The name it was given. */
  readonly name: string | undefined;
  /**
   * `"open"` means that the rule has neither limits nor a verdict of its own: a request whose
   * descriptor ends here is admitted and not counted.
   */
  readonly kind: RuleKind;
  /** The limits; at least one if the rule is limited. */
  readonly limits: readonly Algorithm[];
  /** The smallest capacity among the limits; 0 without any. */
  readonly capacity: number;
  /** Decides and reports, and never refuses. */
  readonly shadow: boolean;
  /** Refuses only together with every other such rule. */
  readonly quota: boolean;
  /** Whether metrics count each of its counters by itself. */
  readonly detailed: boolean;
  /** The names of the rules that do not apply where this rule applies. */
  readonly replaces: readonly string[];
  /**
   * How requests are decided while the limits of a key are looked up; `undefined` if they never
   * are.
   */
  readonly lookup: "default" | "wait" | undefined;
}

/** Something wrong with the rules: where, and what is required. */
export interface RuleFault {
  /** The place in the options: `["rules", 0, "limits", 1]`. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Compiles one rule, but not the rules for the entry that follows; adds its faults. */
export function compileRule(
  written: RuleOptions,
  { index, domain, label }: Pick<Rule, "index" | "domain" | "label">,
  path: RuleFault["path"],
  makeLimit: typeof algorithmOf,
  faults: RuleFault[],
): Rule {
  const { name, replaces = [], shadow, quota, detailed, lookup } = written;
  addVerdictFaults(written, path, faults);
  const limits = compileLimits(written.limits ?? [], path, makeLimit, faults);
  return {
    index,
    domain,
    label,
    name,
    kind: kindOf(written),
    limits,
    capacity: limits.length === 0 ? 0 : Math.min(...limits.map((each) => each.capacity)),
    shadow: shadow === true,
    quota: quota === true,
    detailed: detailed === true,
    replaces,
    lookup,
  };
}

/** The limits that can be made of the options; two of one id would share a counter. */
function compileLimits(
  written: readonly LimitOptions[],
  path: RuleFault["path"],
  makeLimit: typeof algorithmOf,
  faults: RuleFault[],
): readonly Algorithm[] {
  const limits: Algorithm[] = [];
  written.forEach((options, index) => {
    const here = [...path, "limits", index];
    try {
      const limit = makeLimit(options);
      if (limits.some(({ id }) => id === limit.id)) {
        const message =
          "this rule has the same limit twice, in one size or in two: only the lower counts";
        faults.push({ path: here, message });
      }
      limits.push(limit);
    } catch (error) {
      faults.push({ path: here, message: error instanceof Error ? error.message : String(error) });
    }
  });
  return limits;
}

function addVerdictFaults(
  { name, replaces = [], limits, unlimited, blocked, lookup }: RuleOptions,
  path: RuleFault["path"],
  faults: RuleFault[],
): void {
  const given = [limits !== undefined, unlimited === true, blocked === true];
  if (given.filter(Boolean).length > 1) {
    faults.push({ path, message: "a rule may have only one of limits, unlimited and blocked" });
  }
  if (limits !== undefined && limits.length === 0) {
    faults.push({ path: [...path, "limits"], message: "limits must not be empty" });
  }
  if (lookup !== undefined && !given.includes(true)) {
    const message = "lookup needs limits, unlimited or blocked, for keys without individual limits";
    faults.push({ path: [...path, "lookup"], message });
  }
  if (name !== undefined && replaces.includes(name)) {
    const place = [...path, "replaces", replaces.indexOf(name)];
    faults.push({ path: place, message: `a rule cannot replace itself: ${name}` });
  }
}

function kindOf({ limits, unlimited, blocked }: RuleOptions): RuleKind {
  if (unlimited === true) return "unlimited";
  if (blocked === true) return "blocked";
  return limits === undefined ? "open" : "limited";
}
