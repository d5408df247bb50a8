/*
 * The keys used most and refused most in this half hour and the one before. Older counts are
 * forgotten, so that the counts belong to a time that can be named.
 */

import { type KeyFigures, matchesSearch, MAX_KEYS, type RuleFigures } from "./figures_snapshot.ts";
import { countOf, type KeyCount, type KeySketch, keySketch } from "./key_sketch.ts";

const HALF_HOUR = 1_800_000;

/** The counts of this half hour, and of the half hour before. */
type HalfHours = readonly [now: KeySketch, before: KeySketch];

/** Counters of keys. */
export interface KeyCounters {
  /** Units taken. */
  used: HalfHours;
  /** Calls refused. */
  refused: HalfHours;
  /** The half hour, counted from the Unix epoch. */
  halfHour: number;
}

/** Makes counters of no keys yet. */
export function keyCounters(now: number): KeyCounters {
  const seed = Math.trunc(Math.random() * 2 ** 32) | 0;
  const none = (): HalfHours => [keySketch(seed), keySketch(seed)];
  return { used: none(), refused: none(), halfHour: Math.floor(now / HALF_HOUR) };
}

/** The instant from which keys are counted: at most an hour ago. */
export function keysSince(now: number): number {
  return (Math.floor(now / HALF_HOUR) - 1) * HALF_HOUR;
}

/** Forgets the counts from before the last half hour. */
export function rotateKeys(counters: KeyCounters, now: number): void {
  const halfHour = Math.floor(now / HALF_HOUR);
  const turns = Math.min(2, halfHour - counters.halfHour);
  for (let turn = 0; turn < turns; turn++) {
    for (const figure of ["used", "refused"] as const) {
      const [last] = counters[figure];
      counters[figure] = [keySketch(last.seed), last];
    }
  }
  counters.halfHour = Math.max(halfHour, counters.halfHour);
}

/** The keys that a search finds, of those refused most and those used most. */
export function keyFigures(
  { used, refused }: KeyCounters,
  search: string,
): readonly KeyFigures[] {
  const ofRefused = largest(refused, search);
  const others = largest(used, search)
    .filter(({ hash, rule }) => !ofRefused.some((one) => one.hash === hash && one.rule === rule));
  return [...ofRefused, ...others].map(({ hash, key, rule: own }) => {
    const { domain, rule, shadow } = own;
    const sums = { used: sumOf(used, hash, own), refused: sumOf(refused, hash, own) };
    return { domain, rule, key, shadow, ...sums };
  });
}

function sumOf([now, before]: HalfHours, hash: number, rule: RuleFigures): number {
  return countOf(now, hash, rule) + countOf(before, hash, rule);
}

/** The keys with the largest counts, the largest first. */
function largest(halfHours: HalfHours, search: string): readonly KeyCount[] {
  const [now] = halfHours;
  const top: KeyCount[] = [];
  for (const sketch of halfHours) {
    for (const counter of sketch.counters) {
      if (counter === undefined) continue;
      const { hash, rule, key } = counter;
      if (sketch !== now && countOf(now, hash, rule) > 0) continue;
      const count = sumOf(halfHours, hash, rule);
      if (top.length === MAX_KEYS && count <= top[MAX_KEYS - 1]!.count) continue;
      if (!matchesSearch(search, rule.domain, rule.rule, key)) continue;
      const above = top.findLastIndex((each) => each.count >= count);
      top.splice(above + 1, 0, { ...counter, count });
      if (top.length > MAX_KEYS) top.pop();
    }
  }
  return top;
}
