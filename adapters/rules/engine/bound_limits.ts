/*
 * Limits bound to a store: each with its prepared call there, and the earlier versions that keys take
 * over from.
 *
 * A stored key holds the options of its limit, so that a changed limit starts with keys of its own.
 * What a key had used lies under the older options, and is carried over on the key's first call
 * (`Operation.replaces`). A key that stays idle over two changes has its use under the version
 * before the last, so a limit remembers several, each until nothing under it can still be in use.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import { splitReducer } from "../../../core/algorithms/split_reducer.ts";
import type { Decision } from "../../../core/decision.ts";
import { storedKeyIn } from "../../../core/limiter/prepare_call.ts";
import { charging } from "../../../core/limiter/wrapped_algorithm.ts";
import { allOf, andThen, type MaybePromise } from "../../../core/maybe_promise.ts";
import type { Domain, RuleKind } from "../../../core/rules/rules.ts";
import type { Operation, PreparedCall, Replaced, ReplaceMode, Store } from "../../../core/store.ts";

/** Where the counters of rules are, and what time it is there. */
export interface RuleStore {
  readonly store: Store;
  /** What all stored keys begin with; the domain follows it. */
  readonly prefix: string;
  /** The time here, for what is remembered of earlier limits. */
  readonly instant: () => number;
  /** The time for the store; `undefined` for the store's own. */
  readonly now: () => number | undefined;
}

/** A limit on a store. */
export interface BoundLimit {
  readonly algorithm: Algorithm;
  /** The store's faster way for single calls; `undefined` where it has none. */
  readonly call: PreparedCall<MaybePromise<Decision>> | undefined;
  /** The algorithm, but its step is its charge. */
  readonly charged: Algorithm;
  /** The versions that this one took the place of, the newest first. */
  readonly older: readonly OlderLimit[];
}

/** A version of a limit that another one took the place of. */
interface OlderLimit {
  readonly algorithm: Algorithm;
  readonly mode: ReplaceMode;
  /** The instant from which no key can hold use under it. */
  readonly until: number;
}

/** What decides for a key: a rule's limits, or limits of the key's own. */
export interface BoundVerdict {
  readonly kind: RuleKind;
  readonly limits: readonly BoundLimit[];
  /** The algorithms of the limits. */
  readonly algorithms: readonly Algorithm[];
  readonly capacity: number;
}

/** The most versions of a limit that are remembered. */
export const MAX_OLDER_VERSIONS = 4;

/** What decides by these limits, of which there are none unless it is "limited". */
export function boundVerdict(kind: RuleKind, limits: readonly BoundLimit[]): BoundVerdict {
  const algorithms = limits.map(({ algorithm }) => algorithm);
  const capacity = Math.min(...algorithms.map((each) => each.capacity));
  return { kind, limits, algorithms, capacity: limits.length === 0 ? 0 : capacity };
}

/**
 * Binds the limits of a rule, or of a key.
 *
 * @param before Those that they take the place of.
 * @param instant When they did.
 * @throws {RangeError} If the store cannot hold the states of a limit.
 */
export function bindLimits(
  { store, prefix }: RuleStore,
  { name, changes }: Domain,
  algorithms: readonly Algorithm[],
  before: readonly BoundLimit[],
  instant: number,
): readonly BoundLimit[] {
  // Limits that hold beside each other keep their own use.
  const ids = new Set(algorithms.map(({ id }) => id));
  return algorithms.map((algorithm, index): BoundLimit => {
    store.accepts(algorithm);
    const call = store.internals?.prepare?.(`${prefix}/${name}`, algorithm) as BoundLimit["call"];
    const there = before[index];
    const last = before.find(({ algorithm: { id } }) => id === algorithm.id) ??
      (there !== undefined && ids.has(there.algorithm.id) ? undefined : there);
    const older = last === undefined || changes === "reset" ? [] : [
      { algorithm: last.algorithm, mode: changes, until: instant + longestUse(last.algorithm) },
      ...last.older,
    ].filter(({ algorithm: { id }, until }) => !ids.has(id) && until > instant);
    return {
      algorithm,
      call,
      charged: charging(algorithm),
      older: older.slice(0, MAX_OLDER_VERSIONS),
    };
  });
}

/** The longest that a key can hold use. */
function longestUse(algorithm: Algorithm): number {
  const { take, decide } = splitReducer(algorithm);
  const full = take(algorithm.initial, 0, algorithm.capacity);
  const { resetAfter } = decide(algorithm.initial, full, 0, algorithm.capacity);
  return Math.max(resetAfter, ...algorithm.policies.map(({ period }) => 2 * period));
}

/** Whether keys may still hold use under an earlier version of a limit. */
export function isChanging({ older }: BoundLimit, { instant }: RuleStore): boolean {
  return older.length > 0 && older.some(({ until }) => until > instant());
}

/** The operation of a call on one counter. */
export function operationOn(
  on: RuleStore,
  domain: string,
  limit: BoundLimit,
  key: string,
  cost: number,
  dry: boolean,
  algorithm: Algorithm,
): MaybePromise<Operation> {
  const plain: Operation = { key: counterKey(on, domain, algorithm, key), algorithm, cost, dry };
  if (limit.older.length === 0) return plain;
  return andThen(
    replacedBy(on, domain, limit, key),
    (replaces) => replaces === undefined ? plain : { ...plain, replaces },
  );
}

/** What a key takes over from: the newest earlier version under which it holds use. */
function replacedBy(
  on: RuleStore,
  domain: string,
  { older }: BoundLimit,
  key: string,
): MaybePromise<Replaced | undefined> {
  const instant = on.instant();
  const all = older.filter(({ until }) => until > instant).map(({ algorithm, mode }) => (
    { key: counterKey(on, domain, algorithm, key), algorithm, mode }
  ));
  if (all.length <= 1) return all[0];
  const looks = all.map(({ key, algorithm }): MaybePromise<readonly Decision[]> =>
    on.store.run([{ key, algorithm, cost: 0, dry: true }], on.now())
  );
  return andThen(
    allOf(looks),
    (answers) => all.find((_, index) => answers[index]![0]!.resetAfter > 0),
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

/** The stored key of a counter. */
function counterKey(
  { store, prefix }: RuleStore,
  domain: string,
  { id }: Algorithm,
  key: string,
): string {
  return storedKeyIn(store, `${prefix}/${domain}`, id, key);
}
