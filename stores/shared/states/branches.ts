/*
 * What segment trees and running totals have in common: a root whose children are a ring of 16, each
 * of which stands for a group of `span` slots or entries.
 */

/** Children of a root. */
export const RING = 16;

/** How many levels stand below a root, and how many entries below each of its children. */
export interface Levels {
  readonly levels: number;
  readonly span: number;
}

/** The levels that hold `entries` wherever in a child they begin. */
export function levelsFor(entries: number, ofLeaf: number, branches: number): Levels {
  let levels = 1;
  let span = ofLeaf;
  while (entries > (RING - 1) * span + 1) {
    levels++;
    span *= branches;
  }
  return { levels, span };
}

/** Of the groups of entries up to the last one, the one whose place in the ring it is. */
export function groupAt(place: number, last: number): number {
  return last - ((last - place) & (RING - 1));
}
