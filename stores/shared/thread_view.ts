/*
 * The store as one thread sees it: its record, its nodes, the table, and what it remembers of the
 * limiters that have called. All of it is one plain value that the functions of this folder work on.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { setBounded } from "../../core/bounded_map.ts";
import { splitStoredKey } from "../../core/stored_key.ts";
import { type CallByName, type Generations, generationsIn } from "./generations.ts";
import { header, type Memory } from "./layout.ts";
import { type Nodes, threadNodes } from "./memory/nodes.ts";
import { type SpareBlocks, spareBlocks } from "./memory/spare_blocks.ts";
import { blockWriting, type StateLayout, type WriteBlock } from "./states/block_layout.ts";
import { stateLayout } from "./states/state_layout.ts";
import { hashFamily, type HashStart, hashStart, hashText } from "./table/hash.ts";
import { keyDropping } from "./table/drop_keys.ts";
import { bucketScan, type InsertKey, keyInsertion, type ScanBucket } from "./table/insert.ts";
import { openTable, type Table } from "./table/table.ts";
import { evictionReport, type OnEvict } from "./eviction_report.ts";
import { type RefundSignals, refundSignals } from "./refund_signals.ts";
import { attachThread, type Thread } from "./threads/thread.ts";

/** Most families whose hash, and algorithms whose layout, is remembered. */
const MOST_REMEMBERED = 1_000;

/** The store as one thread sees it. */
export interface ThreadView {
  readonly memory: Memory;
  readonly thread: Thread;
  readonly nodes: Nodes;
  readonly spares: SpareBlocks;
  readonly table: Table;
  readonly scan: ScanBucket;
  readonly insert: InsertKey;
  readonly write: WriteBlock;
  /** Drops a key that holds nodes. */
  readonly makeNodes: (now: number) => void;
  /** Where hashes of this store begin, and those of the keys of each family. */
  readonly start: HashStart;
  readonly families: Map<string, HashStart>;
  readonly generations: Generations;
  readonly signals: RefundSignals;
  /** By the algorithm's id. */
  readonly layouts: Map<string, StateLayout>;
}

/** The hash of a key in two halves; the low two bits of `low` are 0. */
export interface Fingerprint {
  readonly low: number;
  readonly high: number;
}

/**
 * Attaches the calling thread.
 *
 * @param callIn Makes what generations are read by, of the view.
 * @throws {StoreFullError} If all records belong to threads that make calls, or died in one.
 */
export function openView(
  memory: Memory,
  callIn: (view: ThreadView) => CallByName,
  onEvict?: OnEvict,
): ThreadView {
  const { ints } = memory;
  const thread = attachThread(memory);
  const nodes = threadNodes(memory, thread);
  const spares = spareBlocks(memory, thread);
  const table = openTable(memory, thread, nodes, spares, evictionReport(thread, onEvict));
  const dropping = keyDropping(table);
  const view: ThreadView = {
    memory,
    thread,
    nodes,
    spares,
    table,
    scan: bucketScan(table),
    insert: keyInsertion(table, dropping),
    write: blockWriting(memory),
    makeNodes: dropping.makeNodes,
    start: hashStart(ints[header.hashKeyLow]!, ints[header.hashKeyHigh]!),
    families: new Map(),
    layouts: new Map(),
    signals: refundSignals(memory),
    generations: generationsIn(ints, (...call) => callByName(...call)),
  };
  const callByName = callIn(view);
  return view;
}

/**
 * Forgets where the hashes of families begin if keys of a prefix were reset, and says so. It is asked
 * at the start of a call, and not in the middle, as the answer is a call by itself.
 */
export function renewFamilies({ families, generations }: ThreadView): boolean {
  const changed = generations.haveChanged();
  if (changed) families.clear();
  return changed;
}

/** Where the hashes of a family's keys begin. */
export function familyStart(
  { start, families, generations }: ThreadView,
  family: string,
): HashStart {
  const known = families.get(family);
  if (known !== undefined) return known;
  const made = hashFamily(start, generations.nameOf(family));
  setBounded(families, family, made, MOST_REMEMBERED);
  return made;
}

/** How the states of an algorithm lie in the store. */
export function layoutFor({ nodes, layouts }: ThreadView, algorithm: Algorithm): StateLayout {
  const known = layouts.get(algorithm.id);
  if (known !== undefined) return known;
  const made = stateLayout(nodes, algorithm);
  setBounded(layouts, algorithm.id, made, MOST_REMEMBERED);
  return made;
}

/** The fingerprint of a stored key. */
export function fingerprintOf(view: ThreadView, stored: string): Fingerprint {
  const { family, key } = splitStoredKey(stored);
  return fingerprintFrom(familyStart(view, family), key);
}

/** Filled anew by each hash: to make a typed array takes longer than to hash a key. */
const hashed = new Int32Array(2);

/** The fingerprint of a text, from where its hash begins. */
export function fingerprintFrom(start: HashStart, text: string): Fingerprint {
  hashText(start, text, hashed);
  return { low: hashed[0]! & ~3, high: hashed[1]! };
}
