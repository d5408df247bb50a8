/*
 * The keys refused most, found with a bounded number of counters: a new key takes the place of the
 * one refused least and its count with it, so that a count is never too small, and a key that is
 * refused often is never missed. Counts are halved each minute, so that the list is about now.
 *
 * Source: A. Metwally, D. Agrawal, A. El Abbadi, "Efficient computation of frequent and top-k
 * elements in data streams" (2005), the space-saving algorithm.
 */

import type { Rule } from "../../rules/rules.ts";
import { MOST_KEYS, type RefusedKey } from "./figures_snapshot.ts";

type KeyCounter = { -readonly [Name in keyof RefusedKey]: RefusedKey[Name] };

/** Counters by the names of keys. */
export type RefusedKeys = Map<string, KeyCounter>;

/** Counts a refusal of a key. */
export function countRefusal(keys: RefusedKeys, rule: Rule, key: string): void {
  const name = `${rule.domain}\0${rule.label}\0${key}`;
  const known = keys.get(name);
  if (known !== undefined) {
    known.refused++;
    return;
  }
  let refused = 1;
  if (keys.size >= MOST_KEYS) {
    const least = leastRefused(keys);
    refused += keys.get(least)!.refused;
    keys.delete(least);
  }
  const { domain, label, shadow } = rule;
  keys.set(name, { domain, rule: rule.name ?? label, key, refused, shadow });
}

function leastRefused(keys: RefusedKeys): string {
  let name = "";
  let least = Infinity;
  for (const [each, { refused }] of keys) {
    if (refused < least) [name, least] = [each, refused];
  }
  return name;
}

/** Halves the counts, and forgets those that were of one. */
export function halveRefusals(keys: RefusedKeys): void {
  for (const [name, counter] of keys) {
    counter.refused = Math.floor(counter.refused / 2);
    if (counter.refused === 0) keys.delete(name);
  }
}
