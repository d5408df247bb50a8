/*
 * Finds patterns that can never match because an earlier pattern matches everything that they do,
 * judged by their fixed pieces. The earlier patterns are indexed by their starts and ends:
 * comparing 10,000 patterns one by one takes a minute.
 */

import type { Wildcard } from "./wildcard.ts";

/** The patterns so far that may leave nothing to later ones: text, stars, text. */
export interface EarlierPatterns {
  /** The lengths of their starts and ends. */
  readonly starts: Set<number>;
  readonly ends: Set<number>;
  /** The first of each start and end, and how many came before it. */
  readonly first: Map<string, readonly [pattern: Wildcard, place: number]>;
}

/** Makes the patterns before the first one. */
export function earlierPatterns(): EarlierPatterns {
  return { starts: new Set(), ends: new Set(), first: new Map() };
}

/** Adds a pattern; returns the first of the earlier ones that matches all that it does. */
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

/** Pieces hold no star, so that no two have the same name. */
function nameOf(start: string, end: string): string {
  return `${start}*${end}`;
}
