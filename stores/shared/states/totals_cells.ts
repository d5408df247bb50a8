/*
 * A log, or a window of few sub-buckets, as one cell: the root of its running totals.
 */

import { EMPTY_TIMELINE } from "../../../core/timeline/counted_timeline.ts";
import type { Timeline } from "../../../core/timeline/timeline.ts";
import { TOTALS } from "../memory/node_shape.ts";
import type { Nodes } from "../memory/nodes.ts";
import type { CellLayout } from "./cells.ts";
import {
  buildTotals,
  editTotals,
  loadTotals,
  rootOfTotals,
  totalsShape,
} from "./running_totals.ts";
import { bucketsFrom, isEdited } from "./stored_timeline.ts";

/** Timelines of at most `entries` buckets. */
export function totalsCells(nodes: Nodes, entries: number): CellLayout {
  const shape = totalsShape(nodes, entries, EMPTY_TIMELINE);
  return {
    types: [2],
    load(ints, _floats, at) {
      const root = ints[2 * at]!;
      return root === 0 ? EMPTY_TIMELINE : loadTotals(shape, root);
    },
    save(state, ints, _floats, at, old) {
      const timeline = state as Timeline;
      ints[2 * at + 1] = 0;
      const kept = rootOfTotals(timeline);
      if (kept !== 0) ints[2 * at] = kept;
      else if (isEdited(timeline)) ints[2 * at] = editTotals(timeline);
      else {
        const oldRoot = old === -1 ? 0 : ints[2 * old]!;
        if (oldRoot !== 0) nodes.drop(oldRoot, TOTALS);
        const buckets = bucketsFrom(timeline, -Infinity);
        ints[2 * at] = buckets.length === 0 ? 0 : buildTotals(shape, buckets);
      }
    },
  };
}
