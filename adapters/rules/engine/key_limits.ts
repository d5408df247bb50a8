/*
 * Limits of a key's own, looked up on first use and remembered.
 *
 * The cache is bounded and forgets what was used longest ago. A key that the source does not know
 * is remembered too, or each of its calls would ask again. An answer past its time still decides
 * while it is asked for anew, so that a decision waits for the source only if the rule says so, and
 * only the first time.
 */

import {
  algorithmOf,
  type Domain,
  type LimitOptions,
  type Rule,
} from "../../../core/rules/rules.ts";
import type { Binder, BoundLimit, BoundVerdict } from "./bound_rules.ts";
import { withTimeout } from "../with_timeout.ts";

/** What a source knows of a key: limits of its own (at least one), a verdict, or nothing. */
export type KeyLimits = readonly LimitOptions[] | "unlimited" | "blocked" | undefined;

/** Asks a source for the limits of a key, `user=42` in the domain `shop`. */
export type KeyLookup = (domain: string, key: string) => Promise<KeyLimits>;

/** How looked-up limits are remembered. */
export interface KeyLimitsOptions {
  /** The most keys to remember; default 100,000. */
  readonly maxKeys?: number | undefined;
  /** For how long, in milliseconds; default 60,000. */
  readonly timeToLive?: number | undefined;
  /**
   * How long a lookup may take, in milliseconds; default 1,000. After it the lookup has failed: what
   * was known before or else the rule's own limits decide, and what it may still say is not heard.
   */
  readonly deadline?: number | undefined;
}

/** What is known of a key now. */
export type KnownLimits = BoundVerdict | undefined;

/** The looked-up limits of keys. */
export interface KeyLimitsCache {
  /**
   * What decides for a key: limits of its own, or `undefined` for the rule's; a promise only if
   * the rule waits and nothing is known yet.
   */
  of(domain: Domain, rule: Rule, key: string, limits: readonly BoundLimit[]):
    | KnownLimits
    | Promise<KnownLimits>;
  /** How many keys are remembered. */
  size(): number;
  /**
   * Has all keys asked for anew. What was known decides until then, unless the rule waits, and what
   * a key had used under it goes on to count.
   */
  refresh(): void;
}

interface Entry {
  known: KnownLimits;
  /** When it is asked for anew. */
  staleAt: number;
  /** Being asked for; `undefined` if it is not. */
  asking: Promise<KnownLimits> | undefined;
  /** After how many refreshes it was asked for. */
  age: number;
}

/** The most questions to the source at a time; the others are decided by the rule. */
const MOST_ASKING = 1_000;

/** The most questions without an answer, those included whose time is over. */
const MOST_UNANSWERED = 10_000;

/** A source that failed is asked again after this long. */
const RETRY_AFTER = 1_000;

/**
 * Makes the cache.
 *
 * @param fail Told of lookups that failed: the rule decides in their place.
 */
export function keyLimitsCache(
  lookup: KeyLookup,
  bind: Binder["bind"],
  now: () => number,
  fail: (error: unknown, key: string) => void,
  { maxKeys = 100_000, timeToLive = 60_000, deadline = 1_000 }: KeyLimitsOptions = {},
): KeyLimitsCache {
  const entries = new Map<string, Entry>();
  let asking = 0;
  let unanswered = 0;
  let age = 0;

  function ask(
    entry: Entry,
    domain: Domain,
    key: string,
    before: readonly BoundLimit[],
  ): Promise<KnownLimits> {
    asking++;
    const answer: Promise<KnownLimits> = load().then((known) => {
      asking--;
      return known;
    });
    entry.asking = answer;
    return answer;

    async function load(): Promise<KnownLimits> {
      let known = entry.known;
      let life = timeToLive;
      try {
        const found = await withTimeout(
          askSource(domain.name, key),
          deadline,
          "wait for the limits of a key",
        );
        known = verdictOf(found, domain, known?.limits ?? before);
      } catch (error) {
        fail(error, key);
        life = Math.min(RETRY_AFTER, timeToLive);
      }
      // After a refresh the key is asked for anew: this answer is for those who waited for it.
      if (entry.asking === answer) {
        entry.asking = undefined;
        entry.known = known;
        entry.staleAt = now() + life;
      }
      return known;
    }
  }

  async function askSource(domain: string, key: string): Promise<KeyLimits> {
    unanswered++;
    try {
      return await lookup(domain, key);
    } finally {
      unanswered--;
    }
  }

  function verdictOf(
    found: KeyLimits,
    domain: Domain,
    before: readonly BoundLimit[],
  ): KnownLimits {
    if (found === undefined) return undefined;
    if (typeof found === "string") return { kind: found, limits: [], algorithms: [], capacity: 0 };
    if (found.length === 0) {
      throw new TypeError(
        'Cannot use the limits of a key as they must be "unlimited", "blocked" or at least one limit: ' +
          "current value is []",
      );
    }
    const algorithms = found.map(algorithmOf);
    const twin = algorithms.find(({ id }, place) =>
      algorithms.findIndex((other) => other.id === id) !== place
    );
    if (twin !== undefined) {
      throw new TypeError(
        `Cannot use the limits of a key as they must differ: ${twin.id} is there twice`,
      );
    }
    return {
      kind: "limited",
      limits: bind(domain, algorithms, before),
      algorithms,
      capacity: Math.min(...algorithms.map(({ capacity }) => capacity)),
    };
  }

  function entryOf(name: string): Entry {
    const found = entries.get(name);
    const entry = found ?? { known: undefined, staleAt: -Infinity, asking: undefined, age };
    if (entry.age !== age) {
      entry.age = age;
      entry.staleAt = -Infinity;
      entry.asking = undefined;
    }
    // Put last, so that the first one of the map is the one used longest ago.
    if (found !== undefined) entries.delete(name);
    else if (entries.size >= maxKeys) entries.delete(entries.keys().next().value!);
    entries.set(name, entry);
    return entry;
  }

  return {
    of(domain, rule, key, limits) {
      const entry = entryOf(`${domain.name}\0${rule.label}\0${key}`);
      const isFirst = entry.staleAt === -Infinity;
      const mayAsk = asking < MOST_ASKING && unanswered < MOST_UNANSWERED;
      if (entry.asking === undefined && entry.staleAt <= now() && mayAsk) {
        // It is kept in the entry; nobody need wait for it.
        void ask(entry, domain, key, limits);
      }
      const waits = rule.lookup === "wait" && isFirst && entry.asking !== undefined;
      return waits ? entry.asking : entry.known;
    },
    size: () => entries.size,
    refresh(): void {
      age++;
    },
  };
}
