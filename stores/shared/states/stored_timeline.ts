/*
 * Timelines that stand in the arena. A loaded one reads its nodes when it is called; what a reducer
 * makes of it is only described, and written when the call is committed. Every question to the
 * description goes to the one that was loaded:
 *
 *   with `units` added at `newest`    since(x) = base.since(x) + units
 *                                     leaves(u) = newest for u < units, else base.leaves(u - units)
 *   without the newest `units`        since(x) = base.since(x) - units, at least 0
 *                                     leaves(u) = base.leaves(u + units)
 *
 * While a call reads, another thread may swap the state and use its nodes again. Then the answers
 * are nonsense, but every loop over nodes is bounded, and the call's swap or its last look at the
 * slot fails, so that nothing comes of them.
 */

import { EMPTY_TIMELINE, timelineOf } from "../../../core/timeline/counted_timeline.ts";
import type { Timeline } from "../../../core/timeline/timeline.ts";

/** A timeline in the arena, as it was loaded. */
export interface StoredTimeline extends Timeline {
  /** The oldest bucket that still counts. */
  readonly floor: number;
}

/** Most sub-buckets of a window, or units of a log: what three levels hold. */
export const MOST_ENTRIES = 65_536;

/** Thrown by a walk over nodes that have been put to other use; the call is tried again. */
export const TORN: unique symbol = Symbol("torn");

/**
 * A timeline that differs from a stored one by one edit. Methods rather than closures, as one is made
 * at each admitted call.
 */
class Edited implements Timeline {
  readonly base: StoredTimeline;
  readonly newest: number;
  /** Units added at `newest`; below 0, those taken back. */
  readonly units: number;
  /** The oldest bucket that still counts. */
  readonly floor: number;

  constructor(base: StoredTimeline, newest: number, units: number, floor: number) {
    this.base = base;
    this.newest = newest;
    this.units = units;
    this.floor = floor;
  }

  since(bucket: number): number {
    if (bucket > this.newest) return 0;
    const units = this.base.since(bucket < this.floor ? this.floor : bucket) + this.units;
    return units > 0 ? units : 0;
  }

  leaves(units: number): number {
    if (units < this.units) return this.newest;
    const bucket = this.base.leaves(units - this.units);
    return bucket < this.floor ? -Infinity : bucket;
  }

  add(bucket: number, units: number, oldest: number): Timeline {
    return this.#plain().add(bucket, units, oldest);
  }

  takeBack(units: number): Timeline {
    return this.#plain().takeBack(units);
  }

  none(): Timeline {
    return EMPTY_TIMELINE;
  }

  /** The same timeline in the form of core: a value of its own. Linear in its buckets. */
  #plain(): Timeline {
    return timelineOf(bucketsFrom(this, this.floor));
  }
}

export type EditedTimeline = Edited;

/** Whether a timeline is a stored one that was edited. */
export function isEdited(timeline: Timeline): timeline is EditedTimeline {
  return timeline instanceof Edited;
}

/** The stored timeline with units added at `newest` or, below 0, taken back. */
export function edited(
  base: StoredTimeline,
  newest: number,
  units: number,
  floor: number,
): EditedTimeline {
  return new Edited(base, newest, units, floor);
}

/** The buckets at `oldest` and later, in order of time: numbers and units. */
export function bucketsFrom(timeline: Timeline, oldest: number): number[] {
  const held: number[] = [];
  let bucket = timeline.newest;
  let later = 0;
  while (bucket >= oldest && bucket > -Infinity) {
    const units = timeline.since(bucket) - later;
    held.push(units, bucket);
    later += units;
    const next = timeline.leaves(later);
    if (!(next < bucket) || !(units > 0) || held.length > 4 * MOST_ENTRIES) throw TORN;
    bucket = next;
  }
  return held.reverse();
}

/*
 * What segment trees and running totals have in common: a root whose children are a ring of 16, each
 * of which stands for a group of `span` buckets or entries.
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
