/*
 * Rules bound to a store. A reload binds the new rules and keeps the old ones, so that use goes on
 * counting.
 */

import type { AppliedRule, BoundOf, Descriptor, Rule } from "../../../core/rules/rules.ts";
import type { RuleSet } from "../files/read_rules.ts";
import {
  bindLimit,
  bindLimits,
  type BoundVerdict,
  boundVerdict,
  MAX_OLDER_VERSIONS,
  type RuleStore,
} from "./bound_limits.ts";

/** A rule in force for a request, and its limits on the store. */
export type RuleInForce = AppliedRule<BoundVerdict>;

/** A configuration on a store. A call sees the same configuration from beginning to end. */
export interface BoundRules {
  readonly set: RuleSet;
  /** When it replaced the configuration before it. */
  readonly instant: number;
  /** The configuration before it, as long as use under that one may have to be carried over. */
  before: BoundRules | undefined;
  /** The rules by the texts that identify them in every version; `undefined` until they are needed. */
  byIdentity: ReadonlyMap<string, Rule> | undefined;
  /** Finds the limits that decide for a rule. */
  readonly boundOf: BoundOf<BoundVerdict>;
}

/**
 * Binds a configuration that replaces another one.
 *
 * @throws {RangeError} If the store cannot hold the states of a limit.
 */
export function bindRules(
  on: RuleStore,
  set: RuleSet,
  before: BoundRules | undefined,
): BoundRules {
  const { store, prefix, instant } = on;
  const distinct = new Map(
    set.rules.flatMap(({ limits }) => limits).map((each) => [`${each.id} ${each.capacity}`, each]),
  );
  for (const algorithm of distinct.values()) store.open({ prefix, algorithm, older: [] });
  // The rules that calls have met so far, each at its index: binding all at once takes long.
  const rules = new Array<BoundVerdict | undefined>(set.rules.length).fill(undefined);
  const bound: BoundRules = {
    set,
    instant: instant(),
    before,
    byIdentity: undefined,
    boundOf: (rule, limit) =>
      limit === undefined
        ? rules[rule.index] ??= bindRule(on, bound, rule)
        : overriding(on, rule, limit),
  };
  let oldest: BoundRules | undefined = bound;
  for (let versions = 0; versions < MAX_OLDER_VERSIONS; versions++) oldest = oldest?.before;
  // No limit remembers versions before the oldest.
  if (oldest !== undefined) oldest.before = undefined;
  return bound;
}

function bindRule(on: RuleStore, { set, before, instant }: BoundRules, rule: Rule): BoundVerdict {
  const { kind, limits, domain } = rule;
  const last = before && sameRule(before, rule);
  const earlier = last === undefined ? [] : before!.boundOf(last, undefined).limits;
  return boundVerdict(kind, bindLimits(on, set.domains.get(domain)!, limits, earlier, instant));
}

/** A limit that came with its descriptor. */
function overriding(
  on: RuleStore,
  { domain }: Rule,
  limit: NonNullable<Descriptor["limit"]>,
): BoundVerdict {
  if (limit === "blocked") return boundVerdict(limit, []);
  return boundVerdict("limited", [bindLimit(on, domain, limit, [])]);
}

function sameRule(before: BoundRules, rule: Rule): Rule | undefined {
  before.byIdentity ??= new Map(before.set.rules.map((each) => [identity(each), each]));
  return before.byIdentity.get(identity(rule));
}

function identity({ domain, label }: Rule): string {
  return `${domain}\0${label}`;
}
