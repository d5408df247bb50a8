/*
 * Limits of a key's own, looked up on first use and remembered.
 *
 * The cache is bounded and forgets what was used longest ago. A key that the source does not know
 * is remembered too, or each of its calls would look it up. An answer past its time still decides
 * while the key is looked up anew, so that a decision waits for the source only if the rule says so,
 * and only the first time.
 *
 * A source may be slow, or never answer. So the number of lookups under way and the time that each may
 * take are bounded.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import { setBounded } from "../../../core/bounded_map.ts";
import { StoreUnavailableError } from "../../../core/errors.ts";
import { checkChoice, checkOptions } from "../../../core/options/checks.ts";
import {
  algorithmOf,
  type Domain,
  type LimitOptions,
  type Rule,
} from "../../../core/rules/rules.ts";
import { withTimeout } from "../../../core/with_timeout.ts";
import { bindLimits, type BoundLimit, type BoundVerdict, boundVerdict } from "./bound_rules.ts";
import type { RuleStore } from "./rule_store.ts";

/** What a source knows of a key: limits of its own (at least one), a verdict, or nothing. */
export type KeyLimits = readonly LimitOptions[] | "unlimited" | "blocked" | undefined;

/** Looks up the limits of a key in a source: `user=42` in the domain `shop`. */
export type KeyLookup = (domain: string, key: string) => Promise<KeyLimits>;

/** The most questions to the source at a time; the other keys are decided by their rule. */
const MOST_AWAITED = 1_000;

/** The most questions without an answer, those included whose time is over. */
const MOST_UNANSWERED = 10_000;

/** How looked-up limits are remembered. */
export interface KeyLimitsOptions {
  /** The most keys to remember; default 100,000. */
  readonly maxKeys?: number | undefined;
  /** For how long, in milliseconds; default 60,000. */
  readonly timeToLive?: number | undefined;
  /**
   * How long a lookup may take, in milliseconds; default 1,000. After it the lookup has failed: what
   * was known before decides, or else the rule's own limits (see `onFailure`), and a later answer is
   * dropped.
   */
  readonly deadline?: number | undefined;
  /**
   * What becomes of a call whose rule waits for limits that cannot be had: `"throw"` (default) rejects
   * it with a `StoreUnavailableError`, `"default"` lets the rule's own limits decide.
   */
  readonly onFailure?: "throw" | "default" | undefined;
}

/** What is known of a key now. */
export type KnownLimits = BoundVerdict | undefined;

/** The looked-up limits of keys. */
export interface KeyLimitsCache {
  readonly on: RuleStore;
  readonly lookup: KeyLookup;
  /** The longest that an answer is waited for, in milliseconds. */
  readonly deadline: number;
  /** Questions whose answer is waited for. */
  awaited: number;
  /** Questions without an answer, those included whose time is over. */
  unanswered: number;
  /** Receives the errors of lookups; the rule decides in their place. It must not throw. */
  readonly fail: (error: unknown, key: string) => void;
  readonly maxKeys: number;
  readonly timeToLive: number;
  readonly onFailure: "throw" | "default";
  readonly entries: Map<string, Entry>;
  /** How often all keys were to be looked up anew. */
  refreshes: number;
}

interface Entry {
  known: KnownLimits;
  /** Why nothing is known, not even that there are no limits; `undefined` if something is. */
  failure: unknown;
  /** When it is looked up anew. */
  staleAt: number;
  /** The lookup under way; `undefined` if there is none. */
  lookup: Promise<void> | undefined;
  /** After how many refreshes it was made. */
  readonly refreshes: number;
}

/** A lookup that failed is tried again after this long. */
const RETRY_AFTER = 1_000;

/** Makes the cache. */
export function keyLimitsCache(
  on: RuleStore,
  lookup: KeyLookup,
  fail: KeyLimitsCache["fail"],
  options: KeyLimitsOptions = {},
): KeyLimitsCache {
  checkOptions<KeyLimitsOptions>("create lookupCache", options, {
    maxKeys: true,
    timeToLive: true,
    deadline: true,
    onFailure: true,
  });
  const { maxKeys = 100_000, timeToLive = 60_000, deadline = 1_000, onFailure = "throw" } = options;
  checkChoice("create ruleEngine", "lookupCache.onFailure", onFailure, ["throw", "default"]);
  const state = { entries: new Map<string, Entry>(), refreshes: 0, awaited: 0, unanswered: 0 };
  return { on, lookup, fail, maxKeys, timeToLive, deadline, onFailure, ...state };
}

/**
 * What decides for a key: limits of its own, or `undefined` for the rule's; a promise only if the
 * rule waits and nothing is known yet.
 *
 * @param limits Those of the rule.
 */
export function limitsOfKey(
  cache: KeyLimitsCache,
  domain: Domain,
  rule: Rule,
  key: string,
  limits: readonly BoundLimit[],
): KnownLimits | Promise<KnownLimits> {
  const entry = entryOf(cache, `${domain.name}\0${rule.label}\0${key}`);
  const isFirst = entry.staleAt === -Infinity;
  if (entry.lookup === undefined && entry.staleAt <= cache.on.instant()) {
    if (mayLookUp(cache)) entry.lookup = load(cache, entry, domain, key, limits);
    else if (rule.lookup === "wait" && entry.failure !== undefined) tooMany(cache, entry, key);
  }
  if (rule.lookup !== "wait") return entry.known;
  const { lookup } = entry;
  return lookup !== undefined && (isFirst || entry.failure !== undefined)
    ? lookup.then(() => knownOrFail(cache, entry, key))
    : knownOrFail(cache, entry, key);
}

function tooMany({ awaited, fail }: KeyLimitsCache, entry: Entry, key: string): void {
  entry.failure = new Error(`${awaited} keys are being looked up`);
  fail(entry.failure, key);
}

/** A rule that waits is not passed by: where nothing is known of a key the call fails. */
function knownOrFail({ onFailure }: KeyLimitsCache, entry: Entry, key: string): KnownLimits {
  const { failure, known } = entry;
  if (failure === undefined || onFailure === "default") return known;
  const reason = failure instanceof Error ? failure.message : String(failure);
  const message = `Cannot decide for ${key} as its own limits must be known: ${reason}`;
  throw new StoreUnavailableError(message, "no", { cause: failure });
}

/**
 * Has all keys looked up anew. What was known decides until then, unless the rule waits, and what a
 * key had used under it goes on to count.
 */
export function refreshLimits(cache: KeyLimitsCache): void {
  cache.refreshes++;
}

const UNKNOWN = { known: undefined, failure: new Error("they were not looked up yet") };

/**
 * The entry of a key. After a refresh it is another one: the answer of an earlier lookup is for those
 * alone who waited for it.
 */
function entryOf({ entries, refreshes, maxKeys }: KeyLimitsCache, name: string): Entry {
  const found = entries.get(name);
  const entry = found?.refreshes === refreshes
    ? found
    : { ...(found ?? UNKNOWN), staleAt: -Infinity, lookup: undefined, refreshes };
  setBounded(entries, name, entry, maxKeys);
  return entry;
}

async function load(
  cache: KeyLimitsCache,
  entry: Entry,
  domain: Domain,
  key: string,
  before: readonly BoundLimit[],
): Promise<void> {
  const { on, fail, timeToLive } = cache;
  let life = timeToLive;
  try {
    const found = await lookUp(cache, domain.name, key);
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

/** Whether there is room for one more question now. */
function mayLookUp({ awaited, unanswered }: KeyLimitsCache): boolean {
  return awaited < MOST_AWAITED && unanswered < MOST_UNANSWERED;
}

/** Looks up the limits of a key; rejects if there is no answer in time. */
async function lookUp(cache: KeyLimitsCache, domain: string, key: string): Promise<KeyLimits> {
  const { deadline } = cache;
  cache.awaited++;
  cache.unanswered++;
  const answer = (async () => await cache.lookup(domain, key))();
  try {
    return await withTimeout(answer.finally(() => cache.unanswered--), deadline, () => {
      throw new Error(`Cannot wait for the limits of a key as it took over ${deadline} ms`);
    });
  } finally {
    cache.awaited--;
  }
}

/** What decides for a key by what the source found. */
function ownVerdict(
  on: RuleStore,
  domain: Domain,
  found: KeyLimits,
  before: readonly BoundLimit[],
): KnownLimits {
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
  const twin = ids.find((id, place) => ids.indexOf(id) !== place);
  if (twin === undefined) return algorithms;
  throw new TypeError(
    `Cannot use the limits of a key as they must differ: ${twin} is there twice`,
  );
}
