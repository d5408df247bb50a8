/*
 * Limits bound to a store: each limit with its keys there, and the earlier versions from which keys
 * take over use.
 *
 * A stored key contains a limit's rate, period and algorithm, so a limit that changes in these starts
 * with keys of its own. The use of a key lies under the older options, and is copied on the first call
 * (`FamilySpec.older`). A key that stays idle over two changes has its use under the version before
 * the last, so a limit remembers several versions, each until no use under it can still count.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import { holdsPermits } from "../../../core/algorithms/holds_permits.ts";
import { longestUse, takingOverOnce } from "../../../core/carry_over.ts";
import type { Domain, RuleKind } from "../../../core/rules/rules.ts";
import type { OlderOptions, Store, StoreBase } from "../../../core/store.ts";
import type { Counter } from "../../../core/together/ask.ts";

/** The store of the rules' counters, and its time. */
export interface RuleStore {
  readonly store: Store;
  /** The beginning of all stored keys; the domain follows it. */
  readonly prefix: string;
  /** The local time, for remembering earlier limits. */
  readonly instant: () => number;
  /** The time for the store; `undefined` for the store's own. */
  readonly now: () => number | undefined;
}

/**
 * A limit on a store. Its family has the earlier versions from which keys take over, as long as such a
 * version may hold use.
 */
export interface BoundLimit extends Counter {
  readonly algorithm: Algorithm;
  /** The versions that this limit replaced, the newest first. */
  readonly older: readonly OlderLimit[];
}

/** A version of a limit that a newer version replaced. */
interface OlderLimit extends OlderOptions {
  /** The instant from which no key can hold use under it. */
  readonly until: number;
}

/** The limits that decide for a key: a rule's, or limits of the key's own. */
export interface BoundVerdict {
  readonly kind: RuleKind;
  readonly limits: readonly BoundLimit[];
  /** The algorithms of the limits. */
  readonly algorithms: readonly Algorithm[];
  readonly capacity: number;
  /** Whether a limit has permits. Then only `hold` and `reserve` take units. */
  readonly permits: boolean;
  /** The first limit whose units cannot be settled later. */
  readonly unreservable: Algorithm | undefined;
}

/** The most versions of a limit that are remembered. */
export const MAX_OLDER_VERSIONS = 4;

/** Makes the verdict with these limits; only the kind "limited" has any. */
export function boundVerdict(kind: RuleKind, limits: readonly BoundLimit[]): BoundVerdict {
  const algorithms = limits.map(({ algorithm }) => algorithm);
  const capacity = Math.min(...algorithms.map((each) => each.capacity));
  return {
    kind,
    limits,
    algorithms,
    capacity: limits.length === 0 ? 0 : capacity,
    permits: algorithms.some(holdsPermits),
    unreservable: algorithms.find((each) =>
      !holdsPermits(each) && each.internals?.receipts === undefined
    ),
  };
}

/**
 * Binds the limits of a rule, or of a key.
 *
 * @param before The limits that they replace.
 * @param instant The instant of the replacement.
 * @throws {RangeError} If the store cannot hold the states of a limit.
 */
export function bindLimits(
  on: RuleStore,
  { name, changes }: Domain,
  algorithms: readonly Algorithm[],
  before: readonly BoundLimit[],
  instant: number,
): readonly BoundLimit[] {
  // Limits that are in force at the same time keep their own use.
  const ids = new Set(algorithms.map(({ id }) => id));
  return algorithms.map((algorithm, index): BoundLimit => {
    const there = before[index];
    const last = before.find(({ algorithm: { id } }) => id === algorithm.id) ??
      (there !== undefined && ids.has(there.algorithm.id) ? undefined : there);
    // Permits stay with the options under which they were given.
    const startsAnew = changes === "reset" || holdsPermits(algorithm) ||
      (last !== undefined && holdsPermits(last.algorithm));
    const older = last === undefined || startsAnew ? [] : [
      { algorithm: last.algorithm, mode: changes, until: instant + longestUse(last.algorithm) },
      ...last.older,
    ].filter(({ algorithm: { id }, until }) => !ids.has(id) && until > instant);
    return bindLimit(on, name, algorithm, older.slice(0, MAX_OLDER_VERSIONS));
  });
}

/**
 * Binds a limit of a domain.
 *
 * @throws {RangeError} If the store cannot hold its states.
 */
export function bindLimit(
  { store, prefix, instant, now }: RuleStore,
  domain: string,
  algorithm: Algorithm,
  older: readonly OlderLimit[],
): BoundLimit {
  const open = (older: readonly OlderLimit[]) =>
    (store as StoreBase).open(takingOverOnce({ prefix: `${prefix}/${domain}`, algorithm, older }));
  let family = open(older);
  let changesUntil = Math.max(-Infinity, ...older.map(({ until }) => until));
  const limit: BoundLimit = {
    algorithm,
    older,
    get family() {
      if (changesUntil > -Infinity && changesUntil <= instant()) {
        family = open([]);
        changesUntil = -Infinity;
      }
      return family;
    },
    call: (verb, key, argument) => limit.family.bind(verb).call(key, argument, now()),
  };
  return limit;
}
