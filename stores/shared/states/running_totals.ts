/*
 * A log, or a window of few units, as running totals. It is core's counted timeline, whose tape is a
 * wide tree in the arena. A leaf has 8 entries of two 64-bit words: a closed bucket's number, and the
 * total up to it. The root's own words are total, base, head and tail, of 64 bits each.
 *
 * An entry never changes. A call writes a copy of the root, and if it closes a bucket, also a copy of
 * the path to one leaf. Questions are binary searches over [head, tail). The memory grows with the
 * buckets that hold units, up to min(N, limit) of them.
 *
 *   levels   span     entries          nodes copied when a bucket closes
 *   1        8        up to 121        2
 *   2        256      up to 3,841      3
 *   3        8,192    up to 122,881    4
 */

import { EMPTY_TIMELINE } from "../../../core/timeline/counted_timeline.ts";
import type { Timeline } from "../../../core/timeline/timeline.ts";
import type { Nodes } from "../allocator/nodes.ts";
import {
  addTo,
  dropOutside,
  leafOf,
  nodesOfTree,
  RING,
  type RingTree,
  ringTree,
} from "./ring_tree.ts";
import {
  edited,
  type EditedTimeline,
  type StoredTimeline,
  type TimelineForm,
  type TimelineRoot,
} from "./stored_timeline.ts";

const LEAF_ENTRIES = 8;
const FORM = { ofLeaf: LEAF_ENTRIES, isWide: true };

/** The places of the root's own words, in 64-bit words. */
const TOTAL = 0;
const BASE = 1;
const HEAD = 2;
const TAIL = 3;

/** The most nodes that totals of at most that many closed buckets take. */
export function nodesOfTotals(entries: number): number {
  return nodesOfTree(entries, FORM, Math.ceil((entries - 1) / LEAF_ENTRIES) + 1);
}

/** A log, or a window of few units, of which at most that many buckets hold units. */
export function runningTotals(nodes: Nodes, entries: number): TimelineForm {
  const tree = ringTree(nodes, entries, FORM);
  return {
    tree,
    mostEntries: (RING - 1) * tree.span + 1,
    mostUnits: Number.MAX_SAFE_INTEGER,
    Loaded: TotalsTimeline,
    edit: editTotals,
    build(held) {
      const root = nodes.makeEmpty();
      let total = 0;
      const closed = held.length / 2 - 1;
      for (let entry = 0; entry < closed; entry++) {
        total += held[2 * entry + 1]!;
        append(tree, root, entry, held[2 * entry]!, total, true);
      }
      return writeRoot(tree, root, total + held[2 * closed + 1]!, 0, 0, closed);
    },
  };
}

/** A class with methods rather than closures, because each call makes one. */
class TotalsTimeline implements StoredTimeline {
  readonly tree: RingTree;
  readonly root: number;
  readonly rest: number;
  readonly newest: number;
  readonly floor: number;
  readonly total: number;
  readonly base: number;
  readonly head: number;
  readonly tail: number;
  /** The last bucket looked for, and its entry: the next search is mostly for the same one. */
  #bucket = NaN;
  #entry = 0;

  constructor(tree: RingTree, root: number, rest: number, newest: number) {
    this.tree = tree;
    this.root = root;
    this.rest = rest;
    this.newest = newest;
    this.floor = -Infinity;
    const { floats, nodes } = tree;
    const at = nodes.at(root) / 2;
    this.total = floats[at + TOTAL]!;
    this.base = floats[at + BASE]!;
    this.head = floats[at + HEAD]!;
    this.tail = floats[at + TAIL]!;
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
    // Most questions are about the newest bucket or the oldest ones, so search in strides from there.
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
    const leaf = leafOf(this.tree, this.root, entry);
    return this.tree.floats[leaf / 2 + 2 * (entry & (LEAF_ENTRIES - 1)) + column]!;
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

function editTotals(edit: EditedTimeline): TimelineRoot | undefined {
  const { newest, units, floor } = edit;
  const old = edit.base as TotalsTimeline;
  const { tree } = old;
  const total = old.total + units;
  if (total > Number.MAX_SAFE_INTEGER) return undefined;
  const root = tree.nodes.copy(old.root);
  let { base, head, tail } = old;
  if (units < 0) {
    tail = old.search(1, total);
    dropOutside(tree, root, old.tail - 1, head, tail - 1);
  } else if (newest !== old.newest) {
    head = old.firstAtOrAfter(floor);
    base = old.totalBefore(head);
    dropOutside(tree, root, old.tail - 1, head, tail - 1);
    append(tree, root, tail++, old.newest, old.total);
  }
  return writeRoot(tree, root, total, base, head, tail);
}

/**
 * Writes an entry along one path of a root that is new already. `fresh`: all nodes below are new,
 * too.
 */
function append(
  tree: RingTree,
  root: number,
  entry: number,
  bucket: number,
  total: number,
  fresh = false,
): void {
  const at = addTo(tree, root, entry, 0, fresh) / 2 + 2 * (entry & (LEAF_ENTRIES - 1));
  tree.floats[at] = bucket;
  tree.floats[at + 1] = total;
}

function writeRoot(
  { floats, nodes }: RingTree,
  root: number,
  total: number,
  base: number,
  head: number,
  tail: number,
): TimelineRoot {
  const at = nodes.at(root) / 2;
  floats[at + TOTAL] = total;
  floats[at + BASE] = base;
  floats[at + HEAD] = head;
  floats[at + TAIL] = tail;
  return { root, rest: 0 };
}
