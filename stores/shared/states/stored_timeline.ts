/*
 * Timelines in the arena, in two cells. The first is the newest bucket. The second is the root of a
 * tree, its shape in three bits, and the bits that the form keeps beside it. The shape says the form,
 * so limiters that choose other forms, because their limits differ, read it as well. They go on with
 * it as long as it has room for their limit. A loaded timeline reads
 * its nodes when it is asked. A reducer only describes an edit, which is written when the call is
 * committed. Every question to the description goes to the loaded timeline:
 *
 *   with `units` added at `newest`    since(x) = base.since(x) + units
 *                                     leaves(u) = newest for u < units, else base.leaves(u - units)
 *   without the newest `units`        since(x) = base.since(x) - units, at least 0
 *                                     leaves(u) = base.leaves(u + units)
 *
 * While a call reads, another thread may swap the state and reuse its nodes. The answers are then
 * nonsense. But every loop over nodes is bounded, and the call's swap or its last look at the slot
 * fails, so the answers have no effect.
 */

import { EMPTY_TIMELINE, timelineOf } from "../../../core/timeline/counted_timeline.ts";
import type { Timeline } from "../../../core/timeline/timeline.ts";
import type { CellLayout } from "./block_layout.ts";
import { ROOT } from "../allocator/node_shape.ts";
import type { RingTree } from "./ring_tree.ts";

/** The most sub-buckets of a window, or units of a log. */
export const MAX_ENTRIES = 65_536;

/** Thrown by a walk over nodes that another thread has reused. The call is tried again. */
export const TORN: unique symbol = Symbol("torn");

/** The contents of the cells beside the newest bucket: a root, and 29 bits of the form's own. */
export interface TimelineRoot {
  readonly root: number;
  readonly rest: number;
}

/** A form in which timelines are kept. */
export interface TimelineForm {
  readonly tree: RingTree;
  /** The most buckets that hold units, and the most units, for which it has room. */
  readonly mostEntries: number;
  readonly mostUnits: number;
  readonly Loaded: new (
    tree: RingTree,
    root: number,
    rest: number,
    newest: number,
  ) => StoredTimeline;
  /**
   * Writes the version that an edit describes, which shares nodes with the old version. `undefined`
   * if it must be built from scratch.
   */
  edit(edit: EditedTimeline): TimelineRoot | undefined;
  /** Builds the tree of at least one bucket, from numbers and units, in order of time. */
  build(held: readonly number[]): TimelineRoot;
}

/** A timeline that was loaded from the arena. */
export interface StoredTimeline extends Timeline, TimelineRoot {
  /** The oldest bucket that still counts. */
  readonly floor: number;
}

/**
 * A timeline that differs from a stored one by one edit. A class with methods rather than closures,
 * because each admitted call makes one.
 */
class Edited implements Timeline {
  readonly base: StoredTimeline;
  readonly newest: number;
  /** Units added at `newest`; negative if units are taken back. */
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

  /** The same timeline in core's form, as a value of its own. Takes time linear in its buckets. */
  #plain(): Timeline {
    return timelineOf(bucketsFrom(this, this.floor));
  }
}

export type EditedTimeline = Edited;

/** The stored timeline with units added at `newest`, or taken back if they are negative. */
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
    if (!(next < bucket) || !(units > 0) || held.length > 4 * MAX_ENTRIES) throw TORN;
    bucket = next;
  }
  return held.reverse();
}

/** The forms that a timeline may have. */
export interface TimelineForms {
  /** The form for calls with one limit first. */
  readonly forms: readonly [TimelineForm, ...TimelineForm[]];
  /** How many buckets hold units at most, and how many units, by calls with that limit. */
  readonly entries: number;
  readonly units: number;
}

/** The timelines of windows of that many buckets, as two cells. */
export function timelineCells(
  { forms, entries, units }: TimelineForms,
  buckets: number,
): CellLayout {
  const [own] = forms;
  const { nodes } = own.tree;
  const byShape = new Array<TimelineForm | undefined>(SHAPE + 1).fill(undefined);
  for (const form of forms) byShape[form.tree.shape & SHAPE] = form;

  /** The form for these buckets, and for what calls with the limit add. */
  function formFor(held: readonly number[]): TimelineForm {
    let [mostEntries, mostUnits] = [Math.max(entries, held.length / 2), 0];
    for (let index = 1; index < held.length; index += 2) mostUnits += held[index]!;
    mostUnits = Math.max(units, mostUnits);
    return forms.find((form) => hasRoom(form, mostEntries, mostUnits)) ?? own;
  }

  /** Builds the timeline anew. The old root is in the cell at `old`, or nowhere (-1). */
  function rebuilt(timeline: Timeline, ints: Int32Array, old: number) {
    const held = bucketsFrom(timeline, timeline.newest - buckets + 1);
    if (old !== -1 && ints[old] !== 0) nodes.drop(ints[old]!, (ints[old + 1]! & SHAPE) | ROOT);
    const form = formFor(held);
    return { form, made: held.length === 0 ? undefined : form.build(held) };
  }

  return {
    types: [0, 1],
    load(ints, floats, at) {
      const root = ints[2 * at + 2]!;
      if (root === 0) return EMPTY_TIMELINE;
      const rest = ints[2 * at + 3]!;
      const form = byShape[rest & SHAPE];
      if (form === undefined) throw TORN;
      return new form.Loaded(form.tree, root, rest >>> 3, floats[at]!);
    },
    save(state, ints, floats, at, old) {
      const timeline = state as Timeline;
      let form = formOf(timeline);
      let made: TimelineRoot | undefined;
      if (timeline instanceof Edited) {
        const isLive = timeline.base.newest >= timeline.floor;
        if (isLive && hasRoom(form!, entries, units)) made = form!.edit(timeline);
      } else if (form !== undefined) made = timeline as StoredTimeline;
      if (made === undefined) {
        ({ form, made } = rebuilt(timeline, ints, old === -1 ? -1 : 2 * old + 2));
      }
      if (made === undefined) return void ints.fill(0, 2 * at, 2 * at + 4);
      floats[at] = timeline.newest;
      ints[2 * at + 2] = made.root;
      ints[2 * at + 3] = (made.rest << 3) | (form!.tree.shape & SHAPE);
    },
  };

  /** The form of a timeline in the arena; `undefined` if it is elsewhere. */
  function formOf(timeline: Timeline): TimelineForm | undefined {
    const stored = timeline instanceof Edited ? timeline.base : timeline;
    const { tree } = stored as { readonly tree?: RingTree };
    return tree && byShape[tree.shape & SHAPE];
  }
}

function hasRoom(form: TimelineForm, entries: number, units: number): boolean {
  return entries <= form.mostEntries && units <= form.mostUnits;
}

/** The bits of a root's shape that its cell keeps. */
const SHAPE = 7;
