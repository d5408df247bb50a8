/*
 * Finds patterns that can never match because an earlier pattern matches everything that they do,
 * judged by their fixed pieces. The earlier patterns are indexed by their starts and ends:
 * comparing 10,000 patterns one by one takes a minute.
 */

import type { Wildcard } from "./wildcard.ts";

/**
 * The patterns so far that may match everything that a later pattern matches: text, stars, text.
 */
export interface EarlierPatterns {
  /** The lengths of their starts and ends. */
  readonly starts: Set<number>;
  readonly ends: Set<number>;
  /** The first pattern for each start and end, and how many patterns came before it. */
  readonly first: Map<string, readonly [pattern: Wildcard, place: number]>;
}

/** Makes the patterns before the first one. */
export function earlierPatterns(): EarlierPatterns {
  return { starts: new Set(), ends: new Set(), first: new Map() };
}

/**
 * Adds a pattern; returns the first earlier pattern that matches everything that the new one
 * matches.
 */
export function addPattern(earlier: EarlierPatterns, pattern: Wildcard): Wildcard | undefined {
  const { start, middle, end } = pattern;
  const { starts, ends, first } = earlier;
  let covering: readonly [Wildcard, number] | undefined;
  for (const length of starts) {
    for (const rest of ends) {
      if (length > start.length || rest > end.length) continue;
      const found = first.get(nameOf(start.slice(0, length), end.slice(end.length - rest)));
      if (found !== undefined && !(found[1] >= (covering?.[1] ?? Infinity))) covering = found;
    }
  }
  const name = nameOf(start, end);
  if (middle.every((piece) => piece === "") && !first.has(name)) {
    first.set(name, [pattern, first.size]);
    starts.add(start.length);
    ends.add(end.length);
  }
  return covering?.[0];
}

/** Pieces contain no star, so names are unique. */
function nameOf(start: string, end: string): string {
  return `${start}*${end}`;
}
