/*
 * The keys with the largest counts, found with a fixed number of counters because attackers choose
 * keys. A key's hash chooses a bucket of eight counters; a key without a counter there takes over
 * the smallest one. The sketch remembers the value of that counter at the takeover, so the count
 * since then is never too large. It is exact while there are no more keys than counters.
 *
 * Source: A. Metwally, D. Agrawal, A. El Abbadi, "Efficient computation of frequent and top-k
 * elements in data streams" (2005), the space-saving algorithm, here in buckets.
 */

import type { RuleFigures } from "./figures_snapshot.ts";

const WAYS = 8;
const BUCKETS = 512;

/** Only this many leading characters of a key are compared and stored. */
const LONGEST_KEY = 256;

/** The counter of a key of a rule. */
export interface KeyCount {
  readonly hash: number;
  readonly rule: RuleFigures;
  readonly key: string;
  count: number;
  /** Its value when its key took it over. */
  readonly inherited: number;
}

/** Counters of keys. */
export interface KeySketch {
  readonly seed: number;
  readonly counters: (KeyCount | undefined)[];
}

/**
 * Makes counters of no keys yet.
 *
 * @param seed Should be secret, so that nobody can choose which keys share a bucket.
 */
export function keySketch(seed: number): KeySketch {
  return { seed, counters: new Array(WAYS * BUCKETS).fill(undefined) };
}

/** Adds to the count of a key. */
export function countKey(
  { seed, counters }: KeySketch,
  rule: RuleFigures,
  key: string,
  amount: number,
): void {
  const hash = hashOf(key, seed);
  const start = bucketOf(hash);
  let least = start;
  for (let index = start; index < start + WAYS; index++) {
    const counter = counters[index];
    if (counter?.hash === hash && counter.rule === rule) {
      counter.count += amount;
      return;
    }
    if ((counter?.count ?? 0) < (counters[least]?.count ?? 0)) least = index;
  }
  const inherited = counters[least]?.count ?? 0;
  const kept = key.length <= LONGEST_KEY ? key : beginningOf(key);
  counters[least] = { hash, rule, key: kept, count: inherited + amount, inherited };
}

function bucketOf(hash: number): number {
  return (hash >>> 12) % BUCKETS * WAYS;
}

/** FNV-1a with a seed. */
function hashOf(key: string, seed: number): number {
  let hash = seed;
  const length = Math.min(key.length, LONGEST_KEY);
  for (let index = 0; index < length; index++) {
    hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  }
  return hash;
}

/** A copy: a slice would keep the whole key in memory. */
function beginningOf(key: string): string {
  return JSON.parse(JSON.stringify(`${key.slice(0, LONGEST_KEY)}…`));
}

/** The certain part of a key's count; the hash comes from another sketch with the same seed. */
export function countOf({ counters }: KeySketch, hash: number, rule: RuleFigures): number {
  const start = bucketOf(hash);
  for (let index = start; index < start + WAYS; index++) {
    const counter = counters[index];
    if (counter?.hash === hash && counter.rule === rule) return counter.count - counter.inherited;
  }
  return 0;
}
