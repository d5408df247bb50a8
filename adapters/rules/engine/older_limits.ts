/*
 * What a limit remembers of its earlier versions.
 *
 * A stored key holds the options of its limit, so that a changed limit starts with keys of its own.
 * What a key had used lies under the older options, and is carried over on the key's first call
 * (`Operation.replaces`). A key that stays idle over two changes has its use under the version
 * before the last, so a limit remembers several, each until nothing under it can still be in use.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import { splitReducer } from "../../../core/algorithms/split_reducer.ts";
import type { Decision } from "../../../core/decision.ts";
import { allOf, andThen, type MaybePromise } from "../../../core/maybe_promise.ts";
import type { Replaced, ReplaceMode } from "../../../core/store.ts";
import { counterKey, type RuleStore } from "./rule_store.ts";

/** A version of a limit that another one took the place of. */
export interface OlderLimit {
  readonly algorithm: Algorithm;
  readonly mode: ReplaceMode;
  /** The instant from which no key can hold use under it. */
  readonly until: number;
}

/** A limit, and its earlier versions. */
export interface VersionedLimit {
  readonly algorithm: Algorithm;
  /** The newest first. */
  readonly older: readonly OlderLimit[];
}

/** The most versions of a limit that are remembered. */
export const MOST_OLDER = 4;

/**
 * The versions that a limit takes over from.
 *
 * @param holding The ids of the limits that hold beside it: they keep their own use.
 * @param last The version that it takes the place of.
 */
export function olderLimits(
  holding: ReadonlySet<string>,
  last: VersionedLimit,
  mode: ReplaceMode,
  instant: number,
): readonly OlderLimit[] {
  return [{ algorithm: last.algorithm, mode, until: instant + longestUse(last.algorithm) }]
    .concat(last.older)
    .filter(({ algorithm: { id }, until }) => !holding.has(id) && until > instant)
    .slice(0, MOST_OLDER);
}

/** Whether keys may still hold use under an earlier version of a limit. */
export function isChanging({ older }: VersionedLimit, { instant }: RuleStore): boolean {
  return older.length > 0 && older.some(({ until }) => until > instant());
}

/** What a key takes over from: the newest earlier version under which it holds use. */
export function replacedBy(
  on: RuleStore,
  domain: string,
  { older }: VersionedLimit,
  key: string,
): MaybePromise<Replaced | undefined> {
  const instant = on.instant();
  const all = older.filter(({ until }) => until > instant);
  const replaced = (version: OlderLimit | undefined): Replaced | undefined =>
    version && {
      key: counterKey(on, domain, version.algorithm, key),
      algorithm: version.algorithm,
      mode: version.mode,
    };
  if (all.length <= 1) return replaced(all[0]);
  return andThen(
    allOf(all.map(({ algorithm }) => peekCounter(on, domain, algorithm, key))),
    (decisions) => replaced(all.find((_, place) => decisions[place]!.resetAfter > 0)),
  );
}

function peekCounter(
  on: RuleStore,
  domain: string,
  algorithm: Algorithm,
  key: string,
): MaybePromise<Decision> {
  const stored = counterKey(on, domain, algorithm, key);
  return andThen<readonly Decision[], Decision>(
    on.store.run([{ key: stored, algorithm, cost: 0, dry: true }], on.now()),
    (decisions) => decisions[0]!,
  );
}

/** The longest that a key can hold use. */
function longestUse(algorithm: Algorithm): number {
  const { take, decide } = splitReducer(algorithm);
  const full = take(algorithm.initial, 0, algorithm.capacity);
  const { resetAfter } = decide(algorithm.initial, full, 0, algorithm.capacity);
  return Math.max(resetAfter, ...algorithm.policies.map(({ period }) => 2 * period));
}
