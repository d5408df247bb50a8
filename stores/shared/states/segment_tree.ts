/*
 * A window of many sub-buckets as a segment tree of sixteen branches.
 *
 *   leaf    32 sums, one for each sub-bucket (bucket for short)
 *   inner   16 sums and 16 children
 *   root    an inner node whose children are a ring: the child of buckets [g * span, (g + 1) * span)
 *           stands at g mod 16
 *
 * Buckets are numbered from the epoch, so a child never changes what it stands for: what has left the
 * window is dropped from the root, a whole child at a time, and a new child begins empty. The span is so
 * large that a window never touches more than 16 children. A sum over buckets adds what lies beside
 * one path; the first bucket after which few enough units lie is found by one descent; an edit
 * copies one path (see `nodes.ts`). With N sub-buckets all of them are O(log N), and forgetting k
 * sub-buckets at once is O(log N + k / 32).
 *
 * Units that come to the newest bucket after its first ones are kept beside the root, up to 8,191 of
 * them, and put into the tree when the next bucket begins: so most calls on a busy key copy no node.
 *
 *   levels   span      sub-buckets   nodes copied by an edit
 *   1        32        up to 481     2
 *   2        512       up to 7,681   3
 *   3        8,192     up to 65,536  4
 *
 * Source: J. L. Bentley, "Solutions to Klee's rectangle problems" (1977), for the tree of sums.
 */

import { EMPTY_TIMELINE } from "../../../core/timeline/counted_timeline.ts";
import type { Timeline } from "../../../core/timeline/timeline.ts";
import { treeOf } from "../memory/node_shape.ts";
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

const LEAF_BUCKETS = 32;
const BRANCHES = 16;
/** Before all buckets: windows near the epoch reach back to buckets below 0. */
const NO_BUCKET = -(2 ** 30);
/** Most units beside the root. */
const MOST_PENDING = 8_191;

/** How the trees of one window are built. */
interface TreeShape extends Levels {
  readonly ints: Int32Array;
  readonly nodes: Nodes;
  /** The power of two that the span is. */
  readonly shift: number;
}

/** The most nodes that a window of so many buckets takes which holds at most so many units. */
export function nodesOfTree(buckets: number, units: number): number {
  const { levels, span } = levelsFor(buckets, LEAF_BUCKETS, BRANCHES);
  const children = Math.min(RING, Math.ceil((buckets - 1) / span) + 1);
  // Of the oldest child all leaves may be there yet, with units that count no more.
  const older = levels === 1 ? 0 : span / LEAF_BUCKETS - 1;
  const leaves = Math.min(children * (span / LEAF_BUCKETS), units + older);
  const inner = levels === 1 ? 0 : Math.min(children, leaves);
  return 1 + leaves + inner + (levels === 3 ? Math.min(children * BRANCHES, leaves) : 0);
}

/**
 * A window of so many buckets as two cells: its newest bucket; its root and, in the second half, from the
 * lowest bit, the levels (2 bits), how far the floor is behind the newest bucket (17), and the units
 * that are pending (13).
 */
export function treeCells(nodes: Nodes, buckets: number): CellLayout {
  const { levels, span } = levelsFor(buckets, LEAF_BUCKETS, BRANCHES);
  const shape = { ints: nodes.memory.ints, nodes, levels, span, shift: Math.log2(span) | 0 };

  /** The tree of a window in the version that is being made. */
  function rootOf(timeline: Timeline, oldRoot: number): TreeRoot {
    if (timeline instanceof TreeTimeline) return timeline;
    if (isEdited(timeline)) return editTree(timeline);
    if (oldRoot !== 0) nodes.drop(oldRoot, treeOf(levels));
    const held = bucketsFrom(timeline, timeline.newest - buckets + 1);
    return { root: held.length === 0 ? 0 : buildTree(shape, held), pending: 0 };
  }

  return {
    types: [0, 1],
    load(ints, floats, at) {
      const root = ints[2 * at + 2]!;
      const newest = floats[at]!;
      if (root === 0) return EMPTY_TIMELINE;
      const rest = ints[2 * at + 3]!;
      const floor = newest - ((rest >> 2) & 0x1ffff);
      return new TreeTimeline(shape, root, newest, floor, rest >>> 19);
    },
    save(state, ints, floats, at, old) {
      const timeline = state as Timeline;
      const { root, pending } = rootOf(timeline, old === -1 ? 0 : ints[2 * old + 2]!);
      if (root === 0) return void ints.fill(0, 2 * at, 2 * at + 4);
      const { newest } = timeline;
      const floor = (timeline as Partial<StoredTimeline>).floor ?? newest - buckets + 1;
      floats[at] = newest;
      ints[2 * at + 2] = root;
      ints[2 * at + 3] = (pending << 19) | ((newest - floor) << 2) | levels;
    },
  };
}

/** Methods rather than closures, as one is made at each call. */
class TreeTimeline implements StoredTimeline {
  readonly shape: TreeShape;
  readonly root: number;
  readonly newest: number;
  readonly floor: number;
  /** Units at `newest` that are not in the tree. */
  readonly pending: number;
  /** The bucket of the last call of `since`, as the next one is mostly about the same, and its answer. */
  #from = NO_BUCKET;
  #answer = 0;
  /** Of that question, the oldest bucket with units and how many, if they stand in the first leaf. */
  #oldest = 0;
  #unitsOfOldest = 0;

  constructor(shape: TreeShape, root: number, newest: number, floor: number, pending: number) {
    this.shape = shape;
    this.root = root;
    this.newest = newest;
    this.floor = floor;
    this.pending = pending;
  }

  since(bucket: number): number {
    if (bucket > this.newest) return 0;
    const from = bucket < this.floor ? this.floor : bucket;
    if (from === this.#from) return this.#answer;
    this.#from = from;
    return this.#answer = this.pending + this.#sumFrom(from);
  }

  #sumFrom(from: number): number {
    const { ints, nodes, span, shift, levels } = this.shape;
    const first = Math.floor(from / span);
    const ring = (first % BRANCHES) | 0;
    const root = nodes.at(this.root);
    const count = Math.min((Math.floor(this.newest / span) - first) | 0, BRANCHES - 1);
    let sum = 0;
    for (let child = 1; child <= count; child++) {
      sum = (sum + ints[root + ((ring + child) & 15)]!) | 0;
    }
    let node = ints[root + BRANCHES + ring]!;
    let offset = (from - first * span) | 0;
    let width = shift;
    for (let level = levels; level > 1; level--) {
      width -= 4;
      const at = nodes.at(node);
      const branch = offset >> width;
      for (let child = branch + 1; child < BRANCHES; child++) sum = (sum + ints[at + child]!) | 0;
      node = ints[at + BRANCHES + branch]!;
      offset &= (1 << width) - 1;
    }
    const end = nodes.at(node) + LEAF_BUCKETS;
    const start = end - LEAF_BUCKETS + offset;
    for (let place = start; place < end; place++) sum = (sum + ints[place]!) | 0;
    let oldest = start;
    while (oldest < end - 1 && ints[oldest] === 0) oldest++;
    this.#oldest = from + oldest - start;
    this.#unitsOfOldest = ints[oldest]!;
    return sum;
  }

  leaves(units: number): number {
    if (units < this.pending) return this.newest;
    // Mostly called for the oldest unit.
    const passed = this.#answer - units;
    if (passed > 0 && passed <= this.#unitsOfOldest) return this.#oldest;
    const { ints, nodes, span, levels } = this.shape;
    const root = nodes.at(this.root);
    const last = Math.floor(this.newest / span);
    const first = Math.max(Math.floor(this.floor / span), last - BRANCHES + 1);
    let group = last;
    let left = units - this.pending;
    while (group >= first && left >= ints[root + (group & 15)]!) {
      left -= ints[root + (group & 15)]!;
      group--;
    }
    if (group < first) return -Infinity;
    let node = ints[root + BRANCHES + (group & 15)]!;
    let bucket = group * span;
    let width = span;
    for (let level = levels; level > 1; level--) {
      width /= BRANCHES;
      const at = nodes.at(node);
      let branch = BRANCHES - 1;
      while (branch > 0 && left >= ints[at + branch]!) left -= ints[at + branch--]!;
      node = ints[at + BRANCHES + branch]!;
      bucket += branch * width;
    }
    const leaf = nodes.at(node);
    let place = LEAF_BUCKETS - 1;
    while (place > 0 && left >= ints[leaf + place]!) left -= ints[leaf + place--]!;
    bucket += place;
    return bucket < this.floor ? -Infinity : bucket;
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

/** What of a window stands in its block: its tree, and the units that are not in it. */
interface TreeRoot {
  readonly root: number;
  readonly pending: number;
}

/** The root of the new version that an edit describes; its old one keeps what they share. */
function editTree({ base, newest, units, floor }: EditedTimeline): TreeRoot {
  const tree = base as TreeTimeline;
  const { shape, root: old, newest: before } = tree;
  const pending = tree.pending + units;
  if (newest === before && pending >= 0 && pending <= MOST_PENDING) return { root: old, pending };
  const { nodes, span, levels } = shape;
  if (before < floor) {
    nodes.drop(old, treeOf(levels));
    return { root: addTo(shape, nodes.makeEmpty(), newest, units), pending: 0 };
  }
  const root = nodes.copy(old);
  const at = nodes.at(root);
  const last = Math.floor(newest / span);
  const later = dropOutside(shape, at, Math.floor(before / span), Math.floor(floor / span), last);
  if (units < 0) addTo(shape, root, newest, pending + later, false, true);
  else {
    if (tree.pending > 0) addTo(shape, root, before, tree.pending);
    addTo(shape, root, newest, units);
  }
  return { root, pending: 0 };
}

/**
 * Drops the children of a root that stand for no group from `first` to `last`.
 *
 * @param newest The last group that the root has held.
 * @returns The units of those after `last`.
 */
function dropOutside(
  shape: TreeShape,
  at: number,
  newest: number,
  first: number,
  last: number,
): number {
  const { ints, levels } = shape;
  let later = 0;
  for (let place = 0; place < BRANCHES; place++) {
    if (ints[at + BRANCHES + place] === 0) continue;
    const group = groupAt(place, newest);
    if (group >= first && group <= last) continue;
    if (group > last) later += ints[at + place]!;
    dropChild(shape, at, place, levels);
  }
  return later;
}

/** The root of a tree of these buckets: numbers and units, in order of time. */
function buildTree(shape: TreeShape, held: readonly number[]): number {
  const root = shape.nodes.makeEmpty();
  for (let place = 0; place < held.length; place += 2) {
    addTo(shape, root, held[place]!, held[place + 1]!, true);
  }
  return root;
}

function dropChild(
  { ints, nodes }: TreeShape,
  at: number,
  branch: number,
  levels: number,
): void {
  const child = ints[at + BRANCHES + branch]!;
  ints[at + branch] = 0;
  ints[at + BRANCHES + branch] = 0;
  if (child !== 0) nodes.drop(child, treeOf(levels - 1));
}

/**
 * Adds along one path of a root that is new already, below 0 too.
 *
 * @param fresh Whether all below it is new.
 * @param isLast Whether the bucket is the newest afterwards: what is later is cleared.
 */
function addTo(
  shape: TreeShape,
  root: number,
  bucket: number,
  units: number,
  fresh = false,
  isLast = false,
): number {
  const { ints, nodes, span, levels } = shape;
  const group = Math.floor(bucket / span);
  let offset = bucket - group * span;
  let width = span;
  let at = nodes.at(root);
  let branch = group & 15;
  let added = units;
  for (let level = levels;; level--) {
    ints[at + branch]! += added;
    if (level === 0) return root;
    const child = ints[at + BRANCHES + branch]!;
    const isOwn = fresh || nodes.isNew(child);
    const next = child === 0 ? nodes.makeEmpty() : isOwn ? child : nodes.copy(child);
    ints[at + BRANCHES + branch] = next;
    at = nodes.at(next);
    if (level > 1) width /= BRANCHES;
    branch = level > 1 ? Math.floor(offset / width) : offset;
    if (level > 1) offset -= branch * width;
    if (isLast) added += clearAfter(shape, at, branch, level - 1);
  }
}

/** Clears what is after a branch of a node that is new already: how many units that was. */
function clearAfter(shape: TreeShape, at: number, branch: number, levels: number): number {
  const { ints } = shape;
  let cleared = 0;
  for (let later = branch + 1; later < (levels > 0 ? BRANCHES : LEAF_BUCKETS); later++) {
    cleared += ints[at + later]!;
    if (levels > 0) dropChild(shape, at, later, levels);
    else ints[at + later] = 0;
  }
  return cleared;
}
