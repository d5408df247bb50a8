/*
 * Rules bound to a store: each limit with its prepared call there, and the earlier versions that
 * keys take over from. A reload binds the new rules beside the old, so that use goes on counting.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import type { Decision } from "../../../core/decision.ts";
import { andThen, type MaybePromise } from "../../../core/maybe_promise.ts";
import type { Domain, Rule, RuleKind } from "../../../core/rules/rules.ts";
import type { Operation, PreparedCall } from "../../../core/store.ts";
import type { RuleSet } from "../files/read_rules.ts";
import { olderLimits, replacedBy, type VersionedLimit } from "./older_limits.ts";
import { counterKey, type RuleStore } from "./rule_store.ts";

/** A limit of a rule on a store. */
export interface BoundLimit extends VersionedLimit {
  /** The store's faster way for single calls; `undefined` where it has none. */
  readonly call: PreparedCall<MaybePromise<Decision>> | undefined;
}

/** What decides for a key: a rule's limits, or limits of the key's own. */
export interface BoundVerdict {
  readonly kind: RuleKind;
  readonly limits: readonly BoundLimit[];
  /** The algorithms of the limits. */
  readonly algorithms: readonly Algorithm[];
  readonly capacity: number;
}

/** A rule on a store. */
export interface BoundRule extends BoundVerdict {
  readonly rule: Rule;
}

/** A configuration on a store: what one call sees from beginning to end. */
export interface BoundRules {
  readonly set: RuleSet;
  /** The rules, each at its index. */
  readonly rules: readonly BoundRule[];
}

/** Binds a configuration that takes the place of another. */
export function bindRules(
  on: RuleStore,
  set: RuleSet,
  before: BoundRules | undefined,
): BoundRules {
  const known = new Map(before?.rules.map((bound) => [identity(bound.rule), bound]));
  const rules = set.rules.map((rule): BoundRule => {
    const domain = set.domains.get(rule.domain)!;
    const limits = bindLimits(on, domain, rule.limits, known.get(identity(rule))?.limits ?? []);
    const { kind, limits: algorithms, capacity } = rule;
    return { rule, kind, limits, algorithms, capacity };
  });
  return { set, rules };
}

/**
 * Binds the limits of a rule, or of a key.
 *
 * @param before Those that they take the place of.
 * @throws {RangeError} If the store cannot hold the states of a limit.
 */
export function bindLimits(
  on: RuleStore,
  { name, changes }: Domain,
  algorithms: readonly Algorithm[],
  before: readonly BoundLimit[],
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
      : olderLimits(ids, last, changes, on.instant());
    return { algorithm, call, older };
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
): MaybePromise<Operation> {
  const { algorithm } = limit;
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
