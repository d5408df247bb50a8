/*
 * A log, or a window of few sub-buckets, as running totals: core's counted timeline with its tape
 * in the arena.
 *
 *   leaf     8 entries of two 64-bit words: a closed bucket's number, and the total up to it
 *   inner    32 children
 *   root     newest, total, base, head and tail as 64-bit words; the levels; 16 children as a ring
 *
 * Entry i, counted from the first one ever, stands at a fixed place below child
 * floor(i / span) mod 16 of the root. An entry never changes: a call writes a copy of the root, and
 * when it closes a bucket a copy of the path to one leaf. Questions are binary searches over
 * [head, tail). Memory follows the buckets that hold units, up to min(N, limit) of them.
 *
 *   levels   span     entries          nodes copied when a bucket closes
 *   1        8        up to 121        2
 *   2        256      up to 3,841      3
 *   3        8,192    up to 122,881    4
 */

import { EMPTY_TIMELINE } from "../../../core/timeline/counted_timeline.ts";
import type { Timeline } from "../../../core/timeline/timeline.ts";
import { branchOf, TOTALS, TOTALS_LEVELS } from "../memory/node_shape.ts";
import type { Nodes } from "../memory/nodes.ts";
import type { CellLayout } from "./block_layout.ts";
import {
  bucketsFrom,
  edited,
  type EditedTimeline,
  groupAt,
  isEdited,
  type Levels,
  levelsFor,
  RING,
  type StoredTimeline,
} from "./stored_timeline.ts";

const LEAF_ENTRIES = 8;
const BRANCHES = 32;

/** Where the root keeps what, in 64-bit words, then in 32-bit words. */
const NEWEST = 0;
const TOTAL = 1;
const BASE = 2;
const HEAD = 3;
const TAIL = 4;
const CHILDREN = 16;

/** How the totals of one algorithm's timelines are built. */
interface TotalsShape extends Levels {
  readonly ints: Int32Array;
  readonly floats: Float64Array;
  readonly nodes: Nodes;
}

/** The most nodes that totals of at most so many closed buckets take. */
export function nodesOfTotals(entries: number): number {
  const { levels, span } = levelsFor(entries, LEAF_ENTRIES, BRANCHES);
  const children = Math.ceil((entries - 1) / span) + 1;
  if (levels === 1) return 1 + children;
  // Of the oldest child all leaves may be there yet, with entries that count no more.
  const leaves = Math.ceil((entries - 1) / LEAF_ENTRIES) + span / LEAF_ENTRIES;
  return 1 + children + (levels === 2 ? 0 : children * BRANCHES) + leaves;
}

/** A log, or a window of few units, as one cell: the root of its totals of at most `entries` buckets. */
export function totalsCells(nodes: Nodes, entries: number): CellLayout {
  const { ints, floats } = nodes.memory;
  const shape = { ints, floats, nodes, ...levelsFor(entries, LEAF_ENTRIES, BRANCHES) };
  return {
    types: [2],
    load(ints, _floats, at) {
      const root = ints[2 * at]!;
      return root === 0 ? EMPTY_TIMELINE : new TotalsTimeline(shape, root);
    },
    save(state, ints, _floats, at, old) {
      const timeline = state as Timeline;
      ints[2 * at + 1] = 0;
      if (timeline instanceof TotalsTimeline) ints[2 * at] = timeline.root;
      else if (isEdited(timeline)) ints[2 * at] = editTotals(timeline);
      else {
        const oldRoot = old === -1 ? 0 : ints[2 * old]!;
        if (oldRoot !== 0) nodes.drop(oldRoot, TOTALS);
        const held = bucketsFrom(timeline, -Infinity);
        ints[2 * at] = held.length === 0 ? 0 : buildTotals(shape, held);
      }
    },
  };
}

/** Methods rather than closures, as one is made at each call. */
class TotalsTimeline implements StoredTimeline {
  readonly shape: TotalsShape;
  readonly root: number;
  readonly newest: number;
  readonly total: number;
  readonly base: number;
  readonly head: number;
  readonly tail: number;
  readonly floor: number;
  /** The bucket that was looked for last, as it is mostly looked for again, and its entry. */
  #bucket = NaN;
  #entry = 0;

  constructor(shape: TotalsShape, root: number) {
    const { floats, nodes } = shape;
    const at = nodes.at(root) / 2;
    this.shape = shape;
    this.root = root;
    this.newest = floats[at + NEWEST]!;
    this.total = floats[at + TOTAL]!;
    this.base = floats[at + BASE]!;
    this.head = floats[at + HEAD]!;
    this.tail = floats[at + TAIL]!;
    this.floor = -Infinity;
  }

  since(bucket: number): number {
    return bucket > this.newest ? 0 : this.total - this.totalBefore(this.firstAtOrAfter(bucket));
  }

  leaves(units: number): number {
    const passed = this.total - units;
    if (passed <= this.base) return -Infinity;
    const entry = this.search(1, passed);
    return entry >= this.tail ? this.newest : this.read(entry, 0);
  }

  /** The first entry of [head, tail) at a bucket or later, or tail. */
  firstAtOrAfter(bucket: number): number {
    if (bucket === this.#bucket) return this.#entry;
    this.#bucket = bucket;
    return this.#entry = this.search(0, bucket);
  }

  /** The total before an entry of [head, tail]. */
  totalBefore(entry: number): number {
    return entry <= this.head ? this.base : this.read(entry - 1, 1);
  }

  /** The first entry of [head, tail) with a bucket (0) or total (1) of at least `value`, or tail. */
  search(column: 0 | 1, value: number): number {
    let low = this.head;
    let high = this.tail;
    // Questions are mostly about the newest bucket, or the oldest ones: in strides from there.
    if (!(low < high) || this.read(low, column) >= value) return low;
    if (this.read(high - 1, column) < value) return high;
    let stride = 1;
    while (low + stride < high && this.read(low + stride, column) < value) {
      low += stride;
      stride *= 2;
    }
    high = Math.min(low + stride, high);
    low += 1;
    for (let step = 0; low < high && step < 64; step++) {
      const middle = Math.floor((low + high) / 2);
      if (this.read(middle, column) < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** An entry's bucket (0) or total (1). */
  read(entry: number, column: 0 | 1): number {
    const { ints, floats, nodes, span, levels } = this.shape;
    const group = Math.floor(entry / span);
    let node = ints[nodes.at(this.root) + CHILDREN + (group & 15)]!;
    let offset = entry - group * span;
    let width = span;
    for (let level = levels; level > 1; level--) {
      width /= BRANCHES;
      const branch = Math.floor(offset / width);
      node = ints[nodes.at(node) + branch]!;
      offset -= branch * width;
    }
    return floats[nodes.at(node) / 2 + 2 * offset + column]!;
  }

  add(bucket: number, units: number, oldest: number): Timeline {
    return edited(this, bucket, units, Math.max(this.floor, oldest));
  }

  takeBack(units: number): Timeline {
    return edited(this, this.leaves(units), -units, this.floor);
  }

  none(): Timeline {
    return EMPTY_TIMELINE;
  }
}

/** The root of the new version that an edit describes; its old one keeps what they share. */
function editTotals(edit: EditedTimeline): number {
  const { newest, units, floor } = edit;
  const old = edit.base as TotalsTimeline;
  const { shape, shape: { nodes } } = old;
  const total = old.total + units;
  if (old.newest < floor || total > Number.MAX_SAFE_INTEGER) {
    const held = bucketsFrom(edit, floor);
    nodes.drop(old.root, TOTALS);
    return buildTotals(shape, held);
  }
  const root = nodes.copy(old.root);
  let { base, head, tail } = old;
  if (units < 0) {
    tail = old.search(1, total);
    prune(old, root, head, tail);
  } else if (newest !== old.newest) {
    head = old.firstAtOrAfter(floor);
    base = old.totalBefore(head);
    prune(old, root, head, tail);
    append(shape, root, tail++, old.newest, old.total);
  }
  return writeRoot(shape, root, newest, total, base, head, tail);
}

/** The root of the totals of these buckets, at least one: numbers and units, in order of time. */
function buildTotals(shape: TotalsShape, held: readonly number[]): number {
  const root = newRoot(shape);
  let total = 0;
  const closed = held.length / 2 - 1;
  for (let entry = 0; entry < closed; entry++) {
    total += held[2 * entry + 1]!;
    append(shape, root, entry, held[2 * entry]!, total, true);
  }
  total += held[2 * closed + 1]!;
  return writeRoot(shape, root, held[2 * closed]!, total, 0, 0, closed);
}

/** Drops the children of the root that hold no entry of [head, tail). */
function prune(
  { shape, tail: before }: TotalsTimeline,
  root: number,
  head: number,
  tail: number,
) {
  const { ints, nodes, span, levels } = shape;
  const at = nodes.at(root) + CHILDREN;
  const last = Math.floor((before - 1) / span);
  for (let place = 0; place < RING; place++) {
    const child = ints[at + place]!;
    if (child === 0) continue;
    const group = groupAt(place, last);
    if (group * span < tail && (group + 1) * span > head) continue;
    nodes.drop(child, branchOf(levels));
    ints[at + place] = 0;
  }
}

/** Writes an entry along one path of a root that is new already; `fresh` if all of it is. */
function append(
  { ints, floats, nodes, span, levels }: TotalsShape,
  root: number,
  entry: number,
  bucket: number,
  total: number,
  fresh = false,
): void {
  const group = Math.floor(entry / span);
  let place = nodes.at(root) + CHILDREN + (group & 15);
  let offset = entry - group * span;
  let width = span;
  for (let level = levels;; level--) {
    const child = ints[place]!;
    const node = child === 0 ? nodes.makeEmpty() : fresh ? child : nodes.copy(child);
    ints[place] = node;
    if (level === 1) {
      const at = nodes.at(node) / 2 + 2 * offset;
      floats[at] = bucket;
      floats[at + 1] = total;
      return;
    }
    width /= BRANCHES;
    const branch = Math.floor(offset / width);
    place = nodes.at(node) + branch;
    offset -= branch * width;
  }
}

function newRoot({ ints, nodes, levels }: TotalsShape): number {
  const root = nodes.makeEmpty();
  ints[nodes.at(root) + TOTALS_LEVELS] = levels;
  return root;
}

function writeRoot(
  { floats, nodes }: TotalsShape,
  root: number,
  newest: number,
  total: number,
  base: number,
  head: number,
  tail: number,
): number {
  const at = nodes.at(root) / 2;
  floats[at + NEWEST] = newest;
  floats[at + TOTAL] = total;
  floats[at + BASE] = base;
  floats[at + HEAD] = head;
  floats[at + TAIL] = tail;
  return root;
}
