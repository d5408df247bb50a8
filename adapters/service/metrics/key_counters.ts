/*
 * The keys used most and refused most, of this half hour and the one before: what is older is
 * forgotten, and the counts are of a time that can be named.
 */

import { type KeyFigures, matchesSearch, mostKeys, type RuleFigures } from "./figures_snapshot.ts";
import { eachKey, type KeySketch, keySketch } from "./key_sketch.ts";

const HALF_HOUR = 1_800_000;

/** Counters of keys: those of this half hour, and of the one before. */
export interface KeyCounters {
  /** Units taken. */
  used: readonly [now: KeySketch, before: KeySketch];
  /** Calls refused. */
  refused: readonly [now: KeySketch, before: KeySketch];
  /** The half hour, counted from the Unix epoch. */
  halfHour: number;
}

/** Makes counters of no keys yet. */
export function keyCounters(now: number): KeyCounters {
  return {
    used: [keySketch(), keySketch()],
    refused: [keySketch(), keySketch()],
    halfHour: Math.floor(now / HALF_HOUR),
  };
}

/** The instant from which keys are counted: at most an hour ago. */
export function keysSince(now: number): number {
  return (Math.floor(now / HALF_HOUR) - 1) * HALF_HOUR;
}

/** Forgets what was counted before the last half hour. */
export function turnKeys(counters: KeyCounters, now: number): void {
  const halfHour = Math.floor(now / HALF_HOUR);
  const turns = Math.min(2, halfHour - counters.halfHour);
  for (let turn = 0; turn < turns; turn++) {
    counters.used = [keySketch(), counters.used[0]];
    counters.refused = [keySketch(), counters.refused[0]];
  }
  counters.halfHour = Math.max(halfHour, counters.halfHour);
}

/** The keys that a search finds, of those used most and refused most. */
export function keyFigures(
  { used, refused }: KeyCounters,
  search: string,
): readonly KeyFigures[] {
  const found: KeyFigures[] = [];
  const finder =
    (figuresOf: (count: number) => Pick<KeyFigures, "used" | "refused">) =>
    ({ domain, rule, shadow }: RuleFigures, key: string, count: number) => {
      if (!matchesSearch(search, domain, rule, key)) return;
      found.push({ domain, rule, key, shadow, ...figuresOf(count) });
    };
  for (const sketch of used) eachKey(sketch, finder((count) => ({ used: count, refused: 0 })));
  for (const sketch of refused) eachKey(sketch, finder((count) => ({ used: 0, refused: count })));
  return mostKeys(found);
}
