import assert from "node:assert/strict";
import { visitNodes } from "../../../../stores/shared/states/block_layout.ts";
import {
  attachMemory,
  BLOCK,
  BUCKET,
  field,
  FRESH_AT,
  header,
  type Memory,
  NODE,
  RING_SIZE,
  SLOTS_PER_BUCKET,
} from "../../../../stores/shared/layout.ts";
import { childrenOf, type NodeShape } from "../../../../stores/shared/allocator/node_shape.ts";
import { usedRecords } from "../../../../stores/shared/threads/thread.ts";
import type { SharedStoreHandle } from "../../../../stores/shared/shared_store.ts";

/** Memory that was handed out and that nobody owns any more. */
export interface Lost {
  /** Keys that are held and not counted. */
  readonly uncounted: number;
  readonly blocks: number;
  readonly nodes: number;
  /** Records of threads that are in a call, or died in one. */
  readonly records: number;
}

/** Nothing lost. */
export const NOTHING: Lost = { uncounted: 0, blocks: 0, nodes: 0, records: 0 };

/**
 * Looks through a store in which no call is under way, and fails if a block or a node is in two
 * places, or in none of those handed out. What stands in the records of threads that died in a call
 * counts as lost.
 */
export function audit(handle: SharedStoreHandle): Lost {
  const memory = attachMemory(handle.buffer);
  const { ints, lastBlock, lastNode } = memory;
  const blocks = owners("block", Math.min(ints[header.blockCount]!, lastBlock));
  const nodes = owners("node", Math.min(ints[header.nodeCount]!, lastNode));
  const at = (node: number) => memory.nodes + node * NODE;

  function ownTree(node: number, shape: NodeShape): void {
    nodes.own(node, "state");
    childrenOf(ints, at(node), shape, ownTree);
  }

  let keys = 0;
  for (const block of blocksInSlots(memory)) {
    keys++;
    blocks.own(block, "slot");
    visitNodes(memory, block, ownTree);
  }
  let records = 0;
  for (const record of usedRecords(memory)) {
    if (isInCall(memory, record)) {
      records++;
      continue;
    }
    for (
      let place = ints[record + field.head]!;
      place !== ints[record + field.tail];
      place = (place + 1) | 0
    ) {
      blocks.own(ints[record + field.ring + (place & (RING_SIZE - 1))]!, `record ${record}`);
    }
    for (let index = 0; index < ints[record + field.keptSize]!; index++) {
      nodes.own(ints[record + field.kept + index]!, `record ${record}`);
    }
  }
  ownPool(memory, header.blockPool, (item) => memory.blocks + FRESH_AT + item * BLOCK, blocks.own);
  ownPool(memory, header.nodePool, at, nodes.own);
  return {
    uncounted: keys - ints[header.keys]!,
    blocks: blocks.missing(),
    nodes: nodes.missing(),
    records,
  };
}

/** Resolves once no thread has made a call for a while: Deno's run on after they were terminated. */
export async function untilQuiet({ buffer }: SharedStoreHandle): Promise<void> {
  const memory = attachMemory(buffer);
  const calls = () =>
    usedRecords(memory).map((record) => Atomics.load(memory.ints, record + field.calls)).join();
  for (let before = "", now = calls(); before !== now; now = calls()) {
    before = now;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Where each item of a kind was found. */
function owners(kind: string, handedOut: number) {
  const found = new Map<number, string>();
  return {
    own(item: number, place: string): void {
      assert.ok(item > 0 && item <= handedOut, `${kind} ${item} of ${place} was not handed out`);
      assert.equal(found.get(item), undefined, `${kind} ${item} is ${place}'s too`);
      found.set(item, place);
    },
    missing: (): number => handedOut - found.size,
  };
}

function blocksInSlots({ ints, buckets, bucketMask, blockMask, lastBlock }: Memory): number[] {
  const found: number[] = [];
  for (let line = buckets; line <= buckets + bucketMask * BUCKET; line += BUCKET) {
    for (let slot = line; slot < line + SLOTS_PER_BUCKET; slot++) {
      const block = ints[slot]! & blockMask;
      if (block !== 0 && block <= lastBlock) found.push(block);
    }
  }
  return found;
}

function isInCall({ ints }: Memory, record: number): boolean {
  return ints[record + field.announced] !== 0;
}

function ownPool(
  { ints, bigs }: Memory,
  head: number,
  at: (item: number) => number,
  own: (item: number, place: string) => void,
): void {
  let first = Number(BigInt.asUintN(32, bigs[head / 2]!));
  while (first !== 0) {
    for (let item = first; item !== 0; item = ints[at(item)]!) own(item, "pool");
    first = ints[at(first) + 1]!;
  }
}
