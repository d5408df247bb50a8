/*
 * The models of `slidingLog`, `slidingWindow` and `lockout`: plain lists of the units taken and
 * when. They are slow and simple on purpose, because the timelines and counters in core are checked
 * against them.
 */

import type { AlgorithmRule } from "./algorithm_rule.ts";
import { floorDivide, larger, smaller } from "./whole_numbers.ts";

/** Units of one sub-bucket. */
export interface Entry {
  /** The sub-bucket's number; of a log, the instant in milliseconds. */
  readonly at: bigint;
  /** How many. */
  readonly units: bigint;
}

/** The options of a log's rule; durations in whole milliseconds. */
export interface SlidingLogRuleOptions {
  /** Units in any span of a period. */
  readonly limit: number;
  /** The period in whole milliseconds. */
  readonly period: number;
}

/**
 * The sliding log by its definition: a list of the units taken and when, oldest first; at most
 * `limit` units in (now - period, now]. An instant before the newest entry counts as that entry's.
 * An admission drops entries that have left the span by then; a refund drops none.
 *
 * @param options The limit and the span.
 *
 * @example
 * ```ts
 * import { model, slidingLogRule } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const key = model(slidingLogRule({ limit: 2, period: 1_000 }));
 * key.decide(0, 1);
 * key.decide(600, 1);
 * assert.equal(key.decide(700, 1).retryAfter, 300);
 * assert.equal(key.decide(700, 2).retryAfter, 900);
 * ```
 */
export function slidingLogRule(
  { limit, period }: SlidingLogRuleOptions,
): AlgorithmRule<readonly Entry[]> {
  return logRule(limit, 1, period);
}

/** Units by the number of their sub-bucket, oldest first. */
export type Buckets = readonly Entry[];

/** The options of a sliding window's rule; durations in whole milliseconds. */
export interface SlidingWindowRuleOptions {
  /** Units in the last `period / precision` sub-buckets. */
  readonly limit: number;
  /** The period in whole milliseconds. */
  readonly period: number;
  /** The length of a sub-bucket in whole milliseconds; it divides the period. */
  readonly precision: number;
}

/**
 * The sliding window by its definition: units counted in sub-buckets at multiples of `precision`,
 * at most `limit` in the last `period / precision` of them, the current one included. An instant
 * before the newest sub-bucket that holds units counts as that one's. An admission drops
 * sub-buckets that have left the window by then; a refund drops none.
 *
 * @param options The limit, the window and its sub-buckets.
 *
 * @example
 * ```ts
 * import { model, slidingWindowRule } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const key = model(slidingWindowRule({ limit: 1, period: 1_000, precision: 250 }));
 * assert.equal(key.decide(100, 1).resetAfter, 900);
 * ```
 */
export function slidingWindowRule(
  { limit, period, precision }: SlidingWindowRuleOptions,
): AlgorithmRule<Buckets> {
  return logRule(limit, precision, period / precision);
}

/** The options of a lockout's rule; durations in whole milliseconds. */
export interface LockoutRuleOptions extends SlidingLogRuleOptions {
  /** For how long the try that fills the period locks the key, in whole milliseconds. */
  readonly lock: number;
}

/**
 * The lockout by its definition: a list of tries and when they were taken, in order. They are
 * forgotten together: a `period` after the first one or, if there are `limit` tries, `lock` after
 * the try that reached the limit. An instant before the first try counts as that one's.
 *
 * @param options The limit, the period and the lock.
 *
 * @example
 * ```ts
 * import { lockoutRule, model } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const key = model(lockoutRule({ limit: 2, period: 1_000, lock: 5_000 }));
 * assert.equal(key.decide(0, 1).resetAfter, 1_000);
 * assert.equal(key.decide(600, 1).resetAfter, 5_000);
 * ```
 */
export function lockoutRule(
  { limit, period, lock }: LockoutRuleOptions,
): AlgorithmRule<readonly Entry[]> {
  const most = BigInt(limit);

  /** The first instant at which the tries are forgotten. */
  function end(tries: readonly Entry[]): bigint {
    let taken = 0n;
    for (const { at, units } of tries) {
      taken += units;
      if (taken >= most) return at + BigInt(lock);
    }
    return tries[0]!.at + BigInt(period);
  }
  function live(tries: readonly Entry[], now: bigint): readonly Entry[] {
    return tries.length > 0 && now < end(tries) ? tries : [];
  }
  function taken(tries: readonly Entry[]): bigint {
    return tries.reduce((total, { units }) => total + units, 0n);
  }
  return {
    capacity: most,
    limit: () => limit,
    admits: (tries = [], now, cost) => taken(live(tries, now)) + cost <= most,
    after(tries = [], now, cost) {
      const held = live(tries, now);
      if (cost > 0n) return [...held, { at: larger(now, held[0]?.at ?? now), units: cost }];
      const kept = live(withoutNewest(held, -cost), now);
      return kept.length > 0 ? kept : undefined;
    },
    fresh: (tries, now) => live(tries, now).length === 0,
  };
}

/** The options of a growing lockout's rule; durations in whole milliseconds. */
export interface GrowingLockoutRuleOptions extends SlidingLogRuleOptions {
  /** The locks in order; the last one is repeated. */
  readonly lock: readonly number[];
  /** For how long after its end a lock makes the next one longer. */
  readonly forget: number;
}

/** Tries, and the ends of the locks before them. */
export interface Strikes {
  /** The tries of the period. */
  readonly tries: readonly Entry[];
  /** When each lock before them ended. */
  readonly ends: readonly bigint[];
}

/**
 * The lockout whose locks grow, by its definition: a list of tries, as `lockoutRule` has it, and a
 * list of when locks ended. A lock is as long as the number of those says; they are forgotten
 * together, `forget` after the last one. Units given back beyond the tries forgive the oldest locks,
 * one for each `limit` units.
 *
 * @param options The limit, the period, the locks and their memory.
 *
 * @example
 * ```ts
 * import { growingLockoutRule, model } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const options = { limit: 1, period: 1_000, lock: [10, 50], forget: 1_000 };
 * const key = model(growingLockoutRule(options));
 * assert.equal(key.decide(0, 1).nextAfter, 10);
 * assert.equal(key.decide(10, 1).nextAfter, 50);
 * ```
 */
export function growingLockoutRule(
  { limit, period, lock, forget }: GrowingLockoutRuleOptions,
): AlgorithmRule<Strikes> {
  const most = BigInt(limit);
  const total = (tries: readonly Entry[]) => tries.reduce((sum, { units }) => sum + units, 0n);

  /** When the lock ends that tries have filled; `undefined` if they have not. */
  function lockEnd({ tries, ends }: Strikes): bigint | undefined {
    let taken = 0n;
    for (const { at, units } of tries) {
      taken += units;
      if (taken >= most) return at + BigInt(lock[Math.min(ends.length, lock.length - 1)]!);
    }
    return undefined;
  }
  function live(use: Strikes, now: bigint): Strikes {
    const end = lockEnd(use);
    if (end !== undefined && now < end) return use;
    const isOpen = end === undefined && use.tries.length > 0 &&
      now < use.tries[0]!.at + BigInt(period);
    const ends = end === undefined ? use.ends : [...use.ends, end];
    const isRemembered = ends.length > 0 && now < ends.at(-1)! + BigInt(forget);
    return { tries: isOpen ? use.tries : [], ends: isRemembered ? ends : [] };
  }
  const none: Strikes = { tries: [], ends: [] };
  return {
    capacity: most,
    limit: () => limit,
    admits: (use = none, now, cost) => total(live(use, now).tries) + cost <= most,
    after(use = none, now, cost) {
      const { tries, ends } = live(use, now);
      if (cost > 0n) {
        // No window opens before the last lock has ended.
        const first = tries[0]?.at ?? ends.at(-1) ?? now;
        return { tries: [...tries, { at: larger(now, first), units: cost }], ends };
      }
      const beyond = larger(0n, -cost - total(tries));
      const kept = ends.slice(Number(smaller(beyond / most, BigInt(ends.length))));
      const left = live({ tries: withoutNewest(tries, -cost), ends: kept }, now);
      return left.tries.length + left.ends.length > 0 ? left : undefined;
    },
    fresh(use, now) {
      const { tries, ends } = live(use, now);
      return tries.length + ends.length === 0;
    },
  };
}

/**
 * The shared part of logs and sliding windows: a list of the units taken in each sub-bucket, oldest
 * first, and at most `limit` units in the last `span` sub-buckets.
 */
function logRule(limit: number, precision: number, span: number): AlgorithmRule<readonly Entry[]> {
  function bucketOf(log: readonly Entry[], now: bigint): bigint {
    return larger(floorDivide(now, BigInt(precision)), log.at(-1)?.at ?? 0n);
  }
  function live(log: readonly Entry[], now: bigint): Entry[] {
    const after = bucketOf(log, now) - BigInt(span);
    return log.filter((entry) => entry.at > after);
  }
  return {
    capacity: BigInt(limit),
    limit: () => limit,
    admits: (log = [], now, cost) =>
      live(log, now).reduce((sum, { units }) => sum + units, cost) <= BigInt(limit),
    after(log = [], now, cost) {
      if (cost > 0n) return [...live(log, now), { at: bucketOf(log, now), units: cost }];
      const kept = withoutNewest(log, -cost);
      return live(kept, now).length > 0 ? kept : undefined;
    },
    fresh: (log, now) => live(log, now).length === 0,
  };
}

/** The entries without their newest units. */
function withoutNewest(entries: readonly Entry[], units: bigint): Entry[] {
  const kept = [...entries];
  let left = units;
  while (left > 0n && kept.length > 0) {
    const newest = kept.pop() as Entry;
    const taken = smaller(left, newest.units);
    left -= taken;
    if (newest.units > taken) kept.push({ at: newest.at, units: newest.units - taken });
  }
  return kept;
}
