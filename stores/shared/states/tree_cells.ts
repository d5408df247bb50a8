/*
 * A window in a segment tree as two cells: its newest slot; its root and, in the second half, from
 * the lowest bit, the levels (2 bits), how far the floor is behind the newest slot (17), and the
 * units that are pending (13).
 */

import { EMPTY_TIMELINE } from "../../../core/timeline/counted_timeline.ts";
import type { Timeline } from "../../../core/timeline/timeline.ts";
import { treeOf } from "../memory/node_shape.ts";
import type { Nodes } from "../memory/nodes.ts";
import type { CellLayout } from "./cells.ts";
import {
  buildTree,
  editTree,
  loadTree,
  rootOfTree,
  type TreeRoot,
  treeShape,
} from "./segment_tree.ts";
import { bucketsFrom, isEdited, type StoredTimeline } from "./stored_timeline.ts";

/** Windows of so many slots. */
export function treeCells(nodes: Nodes, slots: number): CellLayout {
  const shape = treeShape(nodes, slots, EMPTY_TIMELINE);
  const { levels } = shape;

  /** The tree of a window in the version that is being made. */
  function rootOf(timeline: Timeline, oldRoot: number): TreeRoot {
    const kept = rootOfTree(timeline);
    if (kept !== undefined) return kept;
    if (isEdited(timeline)) return editTree(timeline);
    if (oldRoot !== 0) nodes.drop(oldRoot, treeOf(levels));
    const buckets = bucketsFrom(timeline, timeline.newest - slots + 1);
    return { root: buckets.length === 0 ? 0 : buildTree(shape, buckets), pending: 0 };
  }

  return {
    types: [0, 1],
    load(ints, floats, at) {
      const root = ints[2 * at + 2]!;
      const newest = floats[at]!;
      if (root === 0) return EMPTY_TIMELINE;
      const rest = ints[2 * at + 3]!;
      return loadTree(shape, root, newest, newest - ((rest >> 2) & 0x1ffff), rest >>> 19);
    },
    save(state, ints, floats, at, old) {
      const timeline = state as Timeline;
      const { root, pending } = rootOf(timeline, old === -1 ? 0 : ints[2 * old + 2]!);
      if (root === 0) return void ints.fill(0, 2 * at, 2 * at + 4);
      const { newest } = timeline;
      const floor = (timeline as Partial<StoredTimeline>).floor ?? newest - slots + 1;
      floats[at] = newest;
      ints[2 * at + 2] = root;
      ints[2 * at + 3] = (pending << 19) | ((newest - floor) << 2) | levels;
    },
  };
}
