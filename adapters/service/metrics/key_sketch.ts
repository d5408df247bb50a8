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

/** Counters of keys, each with its rule. */
export interface KeySketch {
  readonly seed: number;
  readonly hashes: Int32Array;
  readonly counts: Float64Array;
  /** The value of each counter when its key took it over. */
  readonly inherited: Float64Array;
  readonly rules: (RuleFigures | undefined)[];
  readonly keys: string[];
}

/**
 * Makes counters of no keys yet.
 *
 * @param seed Should be secret, so that nobody can choose which keys share a bucket.
 */
export function keySketch(seed: number): KeySketch {
  const size = WAYS * BUCKETS;
  return {
    seed,
    hashes: new Int32Array(size),
    counts: new Float64Array(size),
    inherited: new Float64Array(size),
    rules: new Array(size).fill(undefined),
    keys: new Array(size).fill(""),
  };
}

/** Adds to the count of a key. */
export function countKey(
  { seed, hashes, counts, inherited, rules, keys }: KeySketch,
  rule: RuleFigures,
  key: string,
  amount: number,
): void {
  const hash = hashOf(key, seed);
  const start = bucketOf(hash);
  let least = start;
  for (let index = start; index < start + WAYS; index++) {
    if (hashes[index] === hash && rules[index] === rule) {
      counts[index]! += amount;
      return;
    }
    if (counts[index]! < counts[least]!) least = index;
  }
  hashes[least] = hash;
  rules[least] = rule;
  keys[least] = key.length <= LONGEST_KEY ? key : beginningOf(key);
  inherited[least] = counts[least]!;
  counts[least]! += amount;
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
export function countOf(
  { hashes, counts, inherited, rules }: KeySketch,
  hash: number,
  rule: RuleFigures,
): number {
  const start = bucketOf(hash);
  for (let index = start; index < start + WAYS; index++) {
    if (hashes[index] === hash && rules[index] === rule) return counts[index]! - inherited[index]!;
  }
  return 0;
}
