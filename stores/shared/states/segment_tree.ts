/*
 * A window of many sub-buckets (buckets for short) as a segment tree: a leaf has 32 sums, one for
 * each bucket, and an inner node one for each child. Buckets are numbered from the epoch. A sum
 * over buckets adds the sums beside one path. One descent finds the first bucket after which few
 * enough units lie. With N buckets both questions, and an edit, are O(log N), and forgetting k
 * buckets at once is O(log N + k / 32).
 *
 * Later units of the newest bucket are kept beside the root, up to 8,191 of them. They are put into
 * the tree when the next bucket begins. So most calls on a busy key copy no node.
 *
 *   levels   span     sub-buckets   nodes copied by an edit
 *   1        32        up to 481     2
 *   2        512       up to 7,681   3
 *   3        8,192     up to 65,536  4
 *
 * Source: J. L. Bentley, "Solutions to Klee's rectangle problems" (1977), for the tree of sums.
 */

import { EMPTY_TIMELINE } from "../../../core/timeline/counted_timeline.ts";
import type { Timeline } from "../../../core/timeline/timeline.ts";
import { NODE } from "../layout.ts";
import type { Nodes } from "../allocator/nodes.ts";
import { addTo, dropOutside, nodesOfTree, RING, type RingTree, ringTree } from "./ring_tree.ts";
import {
  edited,
  type EditedTimeline,
  type StoredTimeline,
  type TimelineForm,
  type TimelineRoot,
} from "./stored_timeline.ts";

const LEAF_BUCKETS = NODE;
const FORM = { ofLeaf: LEAF_BUCKETS, isWide: false };
/** A number before all buckets. Windows near the epoch reach back to buckets below 0. */
const NO_BUCKET = -(2 ** 30);
/**
 * The most units: the sums cover up to twice the window, and have 31 bits, less than the bit pattern of
 * a NaN.
 */
export const MOST_UNITS: number = 2 ** 30 - 2 ** 20;
/** The most units beside the root, and the bits there that say how far the floor is behind. */
const MAX_PENDING = 8_191;
const FLOOR_BITS = 16;

/**
 * The most nodes that a window of that many buckets takes if at most `inUse` of them hold units.
 */
export function nodesOfSums(buckets: number, inUse: number): number {
  return nodesOfTree(buckets, FORM, inUse);
}

/**
 * A window of that many buckets. Beside the root are the distance from the floor to the newest bucket
 * (16 bits) and the pending units (13 bits).
 */
export function segmentTree(nodes: Nodes, buckets: number): TimelineForm {
  const tree = ringTree(nodes, buckets, FORM);
  return {
    tree,
    mostEntries: buckets,
    mostUnits: MOST_UNITS,
    Loaded: TreeTimeline,
    edit: editTree,
    build(held) {
      const root = nodes.makeEmpty();
      for (let index = 0; index < held.length; index += 2) {
        addTo(tree, root, held[index]!, held[index + 1]!, true);
      }
      return { root, rest: buckets - 1 };
    },
  };
}

/** A class with methods rather than closures, because each call makes one. */
class TreeTimeline implements StoredTimeline {
  readonly tree: RingTree;
  readonly root: number;
  readonly rest: number;
  readonly newest: number;
  readonly floor: number;
  /** Units at `newest` that are not in the tree. */
  readonly pending: number;
  /**
   * The bucket of the last call of `since`, and its answer. The next call is mostly about the same
   * bucket.
   */
  #from = NO_BUCKET;
  #answer = 0;
  /**
   * The oldest bucket with units, and its units, for the same question, if they are in the first
   * leaf.
   */
  #oldest = 0;
  #unitsOfOldest = 0;

  constructor(tree: RingTree, root: number, rest: number, newest: number) {
    this.tree = tree;
    this.root = root;
    this.rest = rest;
    this.newest = newest;
    this.floor = newest - (rest & (2 ** FLOOR_BITS - 1));
    this.pending = rest >>> FLOOR_BITS;
  }

  since(bucket: number): number {
    if (bucket > this.newest) return 0;
    const from = bucket < this.floor ? this.floor : bucket;
    if (from === this.#from) return this.#answer;
    this.#from = from;
    return this.#answer = this.pending + this.#sumFrom(from);
  }

  #sumFrom(from: number): number {
    const { ints, nodes, span, shift, levels } = this.tree;
    const first = Math.floor(from / span);
    const ring = (first % RING) | 0;
    const root = nodes.at(this.root);
    const count = Math.min((Math.floor(this.newest / span) - first) | 0, RING - 1);
    let sum = 0;
    for (let child = 1; child <= count; child++) {
      sum = (sum + ints[root + ((ring + child) & 15)]!) | 0;
    }
    let node = ints[root + RING + ring]!;
    let offset = (from - first * span) | 0;
    let width = shift;
    for (let level = levels; level > 1; level--) {
      width -= 4;
      const at = nodes.at(node);
      const branch = offset >> width;
      for (let child = branch + 1; child < RING; child++) sum = (sum + ints[at + child]!) | 0;
      node = ints[at + RING + branch]!;
      offset &= (1 << width) - 1;
    }
    const end = nodes.at(node) + LEAF_BUCKETS;
    const start = end - LEAF_BUCKETS + offset;
    for (let index = start; index < end; index++) sum = (sum + ints[index]!) | 0;
    let oldest = start;
    while (oldest < end - 1 && ints[oldest] === 0) oldest++;
    this.#oldest = from + oldest - start;
    this.#unitsOfOldest = ints[oldest]!;
    return sum;
  }

  leaves(units: number): number {
    if (units < this.pending) return this.newest;
    // Most calls ask for the oldest unit.
    const passed = this.#answer - units;
    if (passed > 0 && passed <= this.#unitsOfOldest) return this.#oldest;
    const { ints, nodes, span, levels } = this.tree;
    const root = nodes.at(this.root);
    const last = Math.floor(this.newest / span);
    const first = Math.max(Math.floor(this.floor / span), last - RING + 1);
    let group = last;
    let left = units - this.pending;
    while (group >= first && left >= ints[root + (group & 15)]!) {
      left -= ints[root + (group & 15)]!;
      group--;
    }
    if (group < first) return -Infinity;
    let node = ints[root + RING + (group & 15)]!;
    let bucket = group * span;
    let width = span;
    for (let level = levels; level > 1; level--) {
      width /= RING;
      const at = nodes.at(node);
      let branch = RING - 1;
      while (branch > 0 && left >= ints[at + branch]!) left -= ints[at + branch--]!;
      node = ints[at + RING + branch]!;
      bucket += branch * width;
    }
    const leaf = nodes.at(node);
    let index = LEAF_BUCKETS - 1;
    while (index > 0 && left >= ints[leaf + index]!) left -= ints[leaf + index--]!;
    bucket += index;
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

function editTree({ base, newest, units, floor }: EditedTimeline): TimelineRoot {
  const { tree, root: old, newest: before, pending } = base as TreeTimeline;
  const rest = newest - floor;
  const unwritten = pending + units;
  if (newest === before && unwritten >= 0 && unwritten <= MAX_PENDING) {
    return { root: old, rest: (unwritten << FLOOR_BITS) | rest };
  }
  const root = tree.nodes.copy(old);
  const later = dropOutside(tree, root, before, floor, newest);
  if (units < 0) addTo(tree, root, newest, unwritten + later, false, true);
  else {
    if (pending > 0) addTo(tree, root, before, pending);
    addTo(tree, root, newest, units);
  }
  return { root, rest };
}
