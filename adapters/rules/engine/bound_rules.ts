/*
 * Rules bound to a store, and what a limit remembers of its earlier versions.
 *
 * A stored key holds the options of its limit, so that a changed limit starts with keys of its own.
 * What a key had used lies under the older options; it is carried over on the key's first call
 * (`Operation.replaces`). A key that stays idle over two changes has its use under the version
 * before the last, so a limit remembers several, each until nothing under it can still be in use.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import { halvesOf } from "../../../core/algorithms/halves_of.ts";
import type { Domain, Rule, RuleKind } from "../../../core/rules/rules.ts";
import type { Decision } from "../../../core/decision.ts";
import type { Operation, PreparedCall, ReplaceMode, Store } from "../../../core/store.ts";
import { storedKey } from "../../../core/stored_key.ts";
import { andThen, type MaybePromise } from "../maybe_promise.ts";
import type { RuleSet } from "../files/read_rules.ts";

/** A version of a limit that another one took the place of. */
interface Older {
  readonly algorithm: Algorithm;
  readonly mode: ReplaceMode;
  /** The instant from which no key can hold use under it. */
  readonly until: number;
}

/** A limit of a rule on a store. */
export interface BoundLimit {
  readonly algorithm: Algorithm;
  /** The short way round, where the store has one. */
  readonly lane: PreparedCall<MaybePromise<Decision>> | undefined;
  /** Earlier versions, the newest first. */
  readonly older: readonly Older[];
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

/** The most versions of a limit that are remembered. */
const MOST_OLDER = 4;

/** Binds limits to a store, and finds their stored keys. */
export interface Binder {
  /** Binds limits of a rule; `before` are those that they take the place of. */
  bind(
    domain: Domain,
    algorithms: readonly Algorithm[],
    before: readonly BoundLimit[],
  ): readonly BoundLimit[];
  /** Binds a configuration that takes the place of another. */
  bindAll(set: RuleSet, before: BoundRules | undefined): BoundRules;
  /** The operation of a call on one counter. */
  operation(
    domain: string,
    limit: BoundLimit,
    key: string,
    cost: number,
    dry: boolean,
  ): MaybePromise<Operation>;
  /** Every stored key of a counter, under its limit's options of today and before. */
  storedKeys(domain: string, limit: BoundLimit, key: string): readonly string[];
}

/**
 * Makes a binder.
 *
 * @param prefix What all stored keys begin with; the domain follows it.
 * @param now The time, for what is remembered of earlier versions.
 * @param at The instant that the store is given; `undefined` for its own time.
 */
export function binder(
  store: Store,
  prefix: string,
  now: () => number,
  at: () => number | undefined,
): Binder {
  function nameKey(domain: string, algorithm: Algorithm, key: string): string {
    const whole = `${prefix}/${domain}`;
    return store.internals?.keyOf?.(whole, algorithm.id, key) ??
      storedKey(whole, algorithm.id, key);
  }

  function bind(
    { name, changes }: Domain,
    algorithms: readonly Algorithm[],
    before: readonly BoundLimit[],
  ): readonly BoundLimit[] {
    const ids = new Set(algorithms.map(({ id }) => id));
    return algorithms.map((algorithm, place): BoundLimit => {
      store.accepts(algorithm);
      const lane = store.internals?.prepare?.(`${prefix}/${name}`, algorithm) as BoundLimit["lane"];
      const there = before[place];
      const last = before.find(({ algorithm: { id } }) => id === algorithm.id) ??
        (there !== undefined && ids.has(there.algorithm.id) ? undefined : there);
      const older = last === undefined || changes === "reset" ? [] : olderThan(ids, last, changes);
      return { algorithm, lane, older };
    });
  }

  /** The versions that a limit takes over from: none that holds beside it, for that keeps its use. */
  function olderThan(
    holding: ReadonlySet<string>,
    last: BoundLimit,
    mode: ReplaceMode,
  ): readonly Older[] {
    const instant = now();
    const all = [{ algorithm: last.algorithm, mode, until: instant + longest(last.algorithm) }]
      .concat(last.older);
    return all
      .filter(({ algorithm: { id }, until }) => !holding.has(id) && until > instant)
      .slice(0, MOST_OLDER);
  }

  function bindAll(set: RuleSet, before: BoundRules | undefined): BoundRules {
    const known = new Map(before?.rules.map((bound) => [identity(bound.rule), bound]));
    const rules = set.rules.map((rule): BoundRule => {
      const domain = set.domains.get(rule.domain)!;
      const limits = bind(domain, rule.limits, known.get(identity(rule))?.limits ?? []);
      const { kind, limits: algorithms, capacity } = rule;
      return { rule, kind, limits, algorithms, capacity };
    });
    return { set, rules };
  }

  function operation(
    domain: string,
    limit: BoundLimit,
    key: string,
    cost: number,
    dry: boolean,
  ): MaybePromise<Operation> {
    const { algorithm } = limit;
    const plain: Operation = { key: nameKey(domain, algorithm, key), algorithm, cost, dry };
    if (limit.older.length === 0) return plain;
    return andThen(
      olderInUse(domain, limit, key),
      (older): Operation =>
        older === undefined ? plain : {
          ...plain,
          replaces: {
            key: nameKey(domain, older.algorithm, key),
            algorithm: older.algorithm,
            mode: older.mode,
          },
        },
    );
  }

  /** The newest earlier version under which the key holds use. */
  function olderInUse(
    domain: string,
    limit: BoundLimit,
    key: string,
  ): MaybePromise<Older | undefined> {
    const instant = now();
    const all = limit.older.filter(({ until }) => until > instant);
    if (all.length <= 1) return all[0];
    const looks = all.map(({ algorithm }) =>
      andThen<readonly Decision[], Decision>(
        store.run([{ key: nameKey(domain, algorithm, key), algorithm, cost: 0, dry: true }], at()),
        (decisions) => decisions[0]!,
      )
    );
    const inUse = (decisions: readonly Decision[]) =>
      all.find((_, place) => decisions[place]!.resetAfter > 0);
    return looks.some((look) => look instanceof Promise)
      ? Promise.all(looks).then(inUse)
      : inUse(looks as Decision[]);
  }

  function storedKeys(domain: string, limit: BoundLimit, key: string): readonly string[] {
    return [limit, ...limit.older].map(({ algorithm }) => nameKey(domain, algorithm, key));
  }

  return { bind, bindAll, operation, storedKeys };
}

/** The longest that a key can hold use. */
function longest(algorithm: Algorithm): number {
  const { take, decide } = halvesOf(algorithm);
  const full = take(algorithm.initial, 0, algorithm.capacity);
  const { resetAfter } = decide(algorithm.initial, full, 0, algorithm.capacity);
  return Math.max(resetAfter, ...algorithm.policies.map(({ period }) => 2 * period));
}

function identity({ domain, label }: Rule): string {
  return `${domain}\0${label}`;
}
