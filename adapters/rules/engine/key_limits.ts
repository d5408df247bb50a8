/*
 * The individual limits of keys, looked up on first use and remembered.
 *
 * The cache is bounded and forgets the entry that was used longest ago. It also remembers keys that
 * the source does not know; otherwise each of their calls would be a lookup. An answer past its
 * time still decides while the key is looked up anew, so that a decision waits for the source only
 * if the rule says so, and only the first time.
 *
 * A source may be slow, or never answer. So the number of lookups under way and the time that each may
 * take are bounded.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import { setBounded } from "../../../core/bounded_map.ts";
import { StoreUnavailableError } from "../../../core/errors.ts";
import { checkOptions, oneOf } from "../../../core/options/checks.ts";
import {
  algorithmOf,
  type Domain,
  type LimitOptions,
  type Rule,
} from "../../../core/rules/rules.ts";
import { withTimeout } from "../../../core/with_timeout.ts";
import {
  bindLimits,
  type BoundLimit,
  type BoundVerdict,
  boundVerdict,
  type RuleStore,
} from "./bound_limits.ts";

/** A source's answer about a key: individual limits (at least one), a verdict, or nothing. */
export type KeyLimits = readonly LimitOptions[] | "unlimited" | "blocked" | undefined;

/** Looks up the limits of a key in a source: `user=42` in the domain `shop`. */
export type KeyLookup = (domain: string, key: string) => Promise<KeyLimits>;

/** The most lookups under way at the same time; the rule decides about further keys. */
const MAX_AWAITED = 1_000;

/** The most lookups without an answer, including those that have timed out. */
const MAX_UNANSWERED = 10_000;

/** How looked-up limits are remembered. */
export interface KeyLimitsOptions {
  /** The most keys to remember; default 100,000. */
  readonly maxKeys?: number | undefined;
  /** How long to remember them, in milliseconds; default 60,000. */
  readonly timeToLive?: number | undefined;
  /**
   * How long a lookup may take, in milliseconds; default 1,000. After that the lookup has failed:
   * the limits known before decide, otherwise the rule's own limits (see `onFailure`), and a later
   * answer is dropped.
   */
  readonly deadline?: number | undefined;
  /**
   * The outcome of a call whose rule waits for limits that the source cannot give: `"throw"`
   * (default) rejects it with a `StoreUnavailableError`, `"default"` lets the rule's own limits
   * decide.
   */
  readonly onFailure?: "throw" | "default" | undefined;
}

/** A lookup that failed is tried again after this long. */
const RETRY_AFTER = 1_000;

/** The current knowledge of a key. */
interface Entry {
  /** Individual limits, or a verdict; `undefined` if the rule's own limits hold. */
  known: BoundVerdict | undefined;
  /** Why nothing is known, not even that there are no limits; `undefined` if something is. */
  failure: unknown;
  /** When it is looked up anew. */
  staleAt: number;
  /** The lookup under way; `undefined` if there is none. */
  lookup: Promise<void> | undefined;
  /** How many refreshes had been asked for when the entry was made. */
  readonly refreshes: number;
}

const UNKNOWN = { known: undefined, failure: new Error("they were not looked up yet") };

/** The looked-up limits of keys. */
export type KeyLimitsCache = ReturnType<typeof keyLimitsCache>;

/**
 * Makes the cache.
 *
 * @param fail Receives the errors of lookups; the rule decides in their place. It must not throw.
 */
export function keyLimitsCache(
  on: RuleStore,
  lookup: KeyLookup,
  fail: (error: unknown, key: string) => void,
  options: KeyLimitsOptions = {},
) {
  checkOptions<KeyLimitsOptions>("create lookupCache", options, {
    maxKeys: true,
    timeToLive: true,
    deadline: true,
    onFailure: oneOf("throw", "default"),
  });
  const { maxKeys = 100_000, timeToLive = 60_000, deadline = 1_000, onFailure = "throw" } = options;
  const entries = new Map<string, Entry>();
  /** The number of refreshes so far. */
  let refreshes = 0;
  const source = boundedLookup(lookup, deadline);

  /**
   * The entry of a key. After a refresh it is a new entry, because the answer of an earlier lookup
   * is only for the callers that waited for it.
   */
  function entryOf(name: string): Entry {
    const found = entries.get(name);
    const entry = found?.refreshes === refreshes
      ? found
      : { ...(found ?? UNKNOWN), staleAt: -Infinity, lookup: undefined, refreshes };
    setBounded(entries, name, entry, maxKeys);
    return entry;
  }

  async function load(
    entry: Entry,
    domain: Domain,
    key: string,
    before: readonly BoundLimit[],
  ): Promise<void> {
    let life = timeToLive;
    try {
      const found = await source.lookUp(domain.name, key);
      entry.known = ownVerdict(on, domain, found, entry.known?.limits ?? before);
      entry.failure = undefined;
    } catch (error) {
      if (entry.failure !== undefined) entry.failure = error;
      fail(error, key);
      life = Math.min(RETRY_AFTER, timeToLive);
    }
    entry.lookup = undefined;
    entry.staleAt = on.instant() + life;
  }

  return {
    /**
     * The limits of a key's own, or `undefined` for the rule's; a promise only if the
     * rule waits and nothing is known yet.
     *
     * @param limits The limits of the rule.
     */
    limitsOf(
      domain: Domain,
      rule: Rule,
      key: string,
      limits: readonly BoundLimit[],
    ): BoundVerdict | undefined | Promise<BoundVerdict | undefined> {
      const entry = entryOf(`${domain.name}\0${rule.label}\0${key}`);
      const isFirst = entry.staleAt === -Infinity;
      const waits = rule.lookup === "wait";
      if (entry.lookup === undefined && entry.staleAt <= on.instant()) {
        if (source.hasRoom()) {
          entry.lookup = load(entry, domain, key, limits);
        } else if (waits && entry.failure !== undefined) {
          entry.failure = new Error(`${source.awaited()} keys are being looked up`);
          fail(entry.failure, key);
        }
      }
      if (!waits) return entry.known;
      return entry.lookup !== undefined && (isFirst || entry.failure !== undefined)
        ? entry.lookup.then(() => knownOrFail(entry, key, onFailure))
        : knownOrFail(entry, key, onFailure);
    },
    /**
     * Looks up all keys anew. Until then the known limits decide, unless the rule waits, and use
     * under these limits goes on counting.
     */
    refresh(): void {
      refreshes++;
    },
  };
}

/**
 * A rule that waits is never skipped: if nothing is known about a key, the call rejects. If it threw,
 * nobody would handle the rejections of the request's other keys.
 */
function knownOrFail(
  { failure, known }: Entry,
  key: string,
  onFailure: KeyLimitsOptions["onFailure"],
): BoundVerdict | undefined | Promise<BoundVerdict | undefined> {
  if (failure === undefined || onFailure === "default") return known;
  const reason = failure instanceof Error ? failure.message : String(failure);
  const message = `Cannot decide for ${key} as its own limits must be known: ${reason}`;
  return Promise.reject(new StoreUnavailableError(message, "no", { cause: failure }));
}

/** Lookups in a source, bounded in number and in time. */
function boundedLookup(lookup: KeyLookup, deadline: number) {
  /** Lookups that a caller still waits for. */
  let awaited = 0;
  /** Lookups without an answer, including those that have timed out. */
  let unanswered = 0;
  return {
    awaited: () => awaited,
    hasRoom: () => awaited < MAX_AWAITED && unanswered < MAX_UNANSWERED,
    /** Looks up the limits of a key; rejects if there is no answer in time. */
    async lookUp(domain: string, key: string): Promise<KeyLimits> {
      awaited++;
      unanswered++;
      const answer = (async () => await lookup(domain, key))().finally(() => unanswered--);
      try {
        return await withTimeout(answer, deadline, () => {
          throw new Error(
            `Cannot wait for the limits of a key because it took over ${deadline} ms`,
          );
        });
      } finally {
        awaited--;
      }
    },
  };
}

/** The verdict for a key, made from the source's answer. */
function ownVerdict(
  on: RuleStore,
  domain: Domain,
  found: KeyLimits,
  before: readonly BoundLimit[],
): BoundVerdict | undefined {
  if (found === undefined) return undefined;
  if (typeof found === "string") return boundVerdict(found, []);
  const limits = bindLimits(on, domain, ownAlgorithms(found), before, on.instant());
  return boundVerdict("limited", limits);
}

function ownAlgorithms(found: readonly LimitOptions[]): readonly Algorithm[] {
  if (found.length === 0) {
    throw new TypeError(
      'Cannot use the limits of a key as they must be "unlimited", "blocked" or at least one limit: ' +
        "current value is []",
    );
  }
  const algorithms = found.map(algorithmOf);
  const ids = algorithms.map(({ id }) => id);
  const twin = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twin === undefined) return algorithms;
  throw new TypeError(
    `Cannot use the limits of a key as they must differ: ${twin} is listed twice`,
  );
}
