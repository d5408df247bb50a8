/*
 * Rules bound to a store: each limit with its prepared call there, and the earlier versions that
 * keys take over from. A reload binds the new rules beside the old, so that use goes on counting.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import type { Decision } from "../../../core/decision.ts";
import { andThen, type MaybePromise } from "../../../core/maybe_promise.ts";
import { charging } from "../../../core/limiter/wrapped_algorithm.ts";
import type { Domain, Rule, RuleKind } from "../../../core/rules/rules.ts";
import type { Operation, PreparedCall } from "../../../core/store.ts";
import type { RuleSet } from "../files/read_rules.ts";
import { MOST_OLDER, olderLimits, replacedBy, type VersionedLimit } from "./older_limits.ts";
import { counterKey, type RuleStore } from "./rule_store.ts";

/** A limit of a rule on a store. */
export interface BoundLimit extends VersionedLimit {
  /** The store's faster way for single calls; `undefined` where it has none. */
  readonly call: PreparedCall<MaybePromise<Decision>> | undefined;
  /** The algorithm, but its step is its charge. */
  readonly charged: Algorithm;
}

/** What decides for a key: a rule's limits, or limits of the key's own. */
export interface BoundVerdict {
  readonly kind: RuleKind;
  readonly limits: readonly BoundLimit[];
  /** The algorithms of the limits. */
  readonly algorithms: readonly Algorithm[];
  readonly capacity: number;
}

/** What decides by these limits, of which there are none unless it is "limited". */
export function boundVerdict(kind: RuleKind, limits: readonly BoundLimit[]): BoundVerdict {
  const algorithms = limits.map(({ algorithm }) => algorithm);
  const capacity = Math.min(...algorithms.map((each) => each.capacity));
  return { kind, limits, algorithms, capacity: limits.length === 0 ? 0 : capacity };
}

/** A configuration on a store: what one call sees from beginning to end. */
export interface BoundRules {
  readonly set: RuleSet;
  /** When it took the place of the one before. */
  readonly instant: number;
  /** The one before, while what keys used under it may have to be carried over. */
  before: BoundRules | undefined;
  /** The rules that a call has met so far, each at its index: to bind all at once takes long. */
  readonly rules: (BoundVerdict | undefined)[];
  /** The index of each rule, by what makes it the same rule in every version. */
  indices: ReadonlyMap<string, number> | undefined;
}

/**
 * Binds a configuration that takes the place of another.
 *
 * @throws {RangeError} If the store cannot hold the states of a limit.
 */
export function bindRules(
  { store, instant }: RuleStore,
  set: RuleSet,
  before: BoundRules | undefined,
): BoundRules {
  for (const { limits } of set.rules) for (const limit of limits) store.accepts(limit);
  const rules = new Array<BoundVerdict | undefined>(set.rules.length).fill(undefined);
  const bound = { set, instant: instant(), before, rules, indices: undefined };
  dropAfter(bound, MOST_OLDER);
  return bound;
}

/** Lets go of the versions that no limit remembers any more. */
function dropAfter(bound: BoundRules, versions: number): void {
  if (bound.before === undefined) return;
  if (versions === 0) bound.before = undefined;
  else dropAfter(bound.before, versions - 1);
}

/** What decides by a rule. */
export function boundRule(on: RuleStore, bound: BoundRules, rule: Rule): BoundVerdict {
  return bound.rules[rule.index] ??= bindRule(on, bound, rule);
}

function bindRule(on: RuleStore, { set, before, instant }: BoundRules, rule: Rule): BoundVerdict {
  const { kind, limits, domain } = rule;
  const last = before && sameRule(before, rule);
  const lastLimits = before === undefined || last === undefined
    ? []
    : boundRule(on, before, last).limits;
  const bound = bindLimits(on, set.domains.get(domain)!, limits, lastLimits, instant);
  return boundVerdict(kind, bound);
}

function sameRule(before: BoundRules, rule: Rule): Rule | undefined {
  const { rules } = before.set;
  before.indices ??= new Map(rules.map((each) => [identity(each), each.index]));
  return rules[before.indices.get(identity(rule)) ?? -1];
}

/**
 * Binds the limits of a rule, or of a key.
 *
 * @param before Those that they take the place of.
 * @param instant When they did.
 * @throws {RangeError} If the store cannot hold the states of a limit.
 */
export function bindLimits(
  on: RuleStore,
  { name, changes }: Domain,
  algorithms: readonly Algorithm[],
  before: readonly BoundLimit[],
  instant: number,
): readonly BoundLimit[] {
  const { store, prefix } = on;
  const ids = new Set(algorithms.map(({ id }) => id));
  return algorithms.map((algorithm, place): BoundLimit => {
    store.accepts(algorithm);
    const call = store.internals?.prepare?.(`${prefix}/${name}`, algorithm) as BoundLimit["call"];
    const there = before[place];
    const last = before.find(({ algorithm: { id } }) => id === algorithm.id) ??
      (there !== undefined && ids.has(there.algorithm.id) ? undefined : there);
    const older = last === undefined || changes === "reset"
      ? []
      : olderLimits(ids, last, changes, instant);
    return { algorithm, call, charged: charging(algorithm), older };
  });
}

/** The operation of a call on one counter. */
export function operationOn(
  on: RuleStore,
  domain: string,
  limit: BoundLimit,
  key: string,
  cost: number,
  dry: boolean,
  algorithm: Algorithm = limit.algorithm,
): MaybePromise<Operation> {
  const plain: Operation = { key: counterKey(on, domain, algorithm, key), algorithm, cost, dry };
  if (limit.older.length === 0) return plain;
  return andThen(
    replacedBy(on, domain, limit, key),
    (replaces) => replaces === undefined ? plain : { ...plain, replaces },
  );
}

/** Every stored key of a counter, under its limit's options of today and before. */
export function storedKeys(
  on: RuleStore,
  domain: string,
  limit: BoundLimit,
  key: string,
): readonly string[] {
  return [limit, ...limit.older].map(({ algorithm }) => counterKey(on, domain, algorithm, key));
}

function identity({ domain, label }: Rule): string {
  return `${domain}\0${label}`;
}
