/*
 * The store as one thread sees it: the thread's record and nodes, the table, and its memory of the
 * limiters that have called. It is one plain value, on which the functions of this folder work.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { type EvictionReport, evictionReport, type OnEvict } from "./eviction_report.ts";
import type { Memory } from "./layout.ts";
import { threadNodes } from "./allocator/nodes.ts";
import { spareBlocks } from "./allocator/spare_blocks.ts";
import { type RefundSignals, refundSignals } from "./refund_signals.ts";
import type { StateLayout } from "./states/block_layout.ts";
import { stateLayout } from "./states/state_layout.ts";
import { type KeyDropping, keyDropping } from "./table/drop_keys.ts";
import { type KeyInsertion, keyInsertion } from "./table/insert.ts";
import { openTable, type Table } from "./table/table.ts";
import { attachThread } from "./threads/thread.ts";
import { newestTime } from "./newest_time.ts";
import { threadTime } from "../process_time.ts";
import type { SteadyTime } from "../../core/steady_time.ts";

/** The store as one thread sees it. */
export interface ThreadView extends Table, KeyDropping, KeyInsertion {
  readonly signals: RefundSignals;
  readonly evictions: EvictionReport;
  /** The time of calls that are given none. */
  readonly time: SteadyTime;
  readonly layouts: WeakMap<Algorithm, StateLayout>;
}

/**
 * Attaches the calling thread.
 *
 * @throws {StoreFullError} If all records belong to threads that make calls, or died in one.
 */
export function openView(memory: Memory, onEvict?: OnEvict): ThreadView {
  const thread = attachThread(memory);
  const nodes = threadNodes(memory, thread);
  const spares = spareBlocks(memory, thread);
  const evictions = evictionReport(thread, onEvict);
  const table = openTable(memory, thread, nodes, spares, evictions.evicted);
  const dropping = keyDropping(table);
  const insertion = keyInsertion(table, dropping);
  return {
    ...table,
    ...dropping,
    ...insertion,
    signals: refundSignals(memory),
    evictions,
    time: threadTime(newestTime(memory)),
    layouts: new WeakMap(),
  };
}

/** The layout of an algorithm's states in the store. */
export function layoutFor({ nodes, layouts }: ThreadView, algorithm: Algorithm): StateLayout {
  let layout = layouts.get(algorithm);
  if (layout === undefined) layouts.set(algorithm, layout = stateLayout(nodes, algorithm));
  return layout;
}
