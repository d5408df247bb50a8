/*
 * The blocks that a thread writes into, in a ring:
 *
 *   [head, vetted)   free to use: after a rest, no thread announced them (as with hazard pointers)
 *   [vetted, tail)   retired by this thread, in order; checked 32 at a time
 *
 * A swap spends one block and retires one, so a ring mostly keeps its length, about 64. A key that a
 * thread removes makes its ring longer. Blocks beyond 96 go to the pool, and threads with an empty
 * ring take them from there. Before a thread uses a block of the pool, it checks that nobody
 * announces the block. So a thread never holds more than 96 blocks, plus those of its current batch.
 * Blocks are lost only if a thread dies in the middle of a call.
 *
 * The counts only grow, modulo 2^32, because only their differences matter.
 */

import { ContentionError } from "../../../core/errors.ts";
import { field, header, type Memory, RING_SIZE } from "../layout.ts";
import { announcedBlocks } from "../threads/announcements.ts";
import type { Thread } from "../threads/thread.ts";
import { MAX_CHAIN_ITEMS, type Pool, poolOfBlocks, putChain, takeChain } from "./pool.ts";

/** How many of the newest retired blocks are not checked yet. */
const REST = 32;
/** The most blocks in a ring at the end of a call. */
const MAX_HELD = 96;
/** How often a thread without spare blocks tries again. */
const PATIENCE = 1_000_000;

/** The spare blocks of a thread. */
export type SpareBlocks = ReturnType<typeof spareBlocks>;

/** The spare blocks in a thread's record. */
export function spareBlocks(memory: Memory, thread: Thread) {
  const { ints } = memory;
  const pool = poolOfBlocks(memory);

  function push(block: number): void {
    const { record } = thread;
    const tail = ints[record + field.tail]!;
    ints[ringPlace(record, tail)] = block;
    ints[record + field.tail] = tail + 1;
  }

  function vetRested(): void {
    const { record } = thread;
    if (((ints[record + field.tail]! - ints[record + field.vetted]!) | 0) >= 2 * REST) vet(REST);
  }

  /** Frees the retired blocks that no thread announces, except the newest `rest`. */
  function vet(rest: number): void {
    const { record } = thread;
    const pinned = announcedBlocks(thread);
    const start = ints[record + field.vetted]!;
    const count = ((ints[record + field.tail]! - start) | 0) - rest;
    for (let offset = 0; offset < count; offset++) {
      const place = ringPlace(record, start + offset);
      const block = ints[place]!;
      if (pinned.length > 0 && pinned.includes(block)) continue;
      const free = ringPlace(record, ints[record + field.vetted]!);
      ints[place] = ints[free]!;
      ints[free] = block;
      ints[record + field.vetted]!++;
    }
  }

  function isOut(): boolean {
    return ints[thread.record + field.head] === ints[thread.record + field.vetted];
  }

  /** Makes a block free to use, unless there is one already. */
  function refill(): void {
    vetRested();
    for (let tries = 0; isOut(); tries++) {
      if (tries > PATIENCE) {
        throw new ContentionError("Cannot decide because all spare blocks of the store are in use");
      }
      passOn(thread, pool);
      for (const block of takeChain(pool)) push(block);
      vetRested();
      if (isOut()) addUnused(thread);
      if (isOut()) vet(0);
    }
  }

  return {
    /** The block to write into; the same one until it is spent. */
    spare(): number {
      if (isOut()) refill();
      const { record } = thread;
      return ints[ringPlace(record, ints[record + field.head]!)]!;
    },
    /**
     * Marks the spare block as used. The caller must then `add` it, or the block that it replaced.
     */
    spent(): void {
      ints[thread.record + field.head]!++;
    },
    /** Adds a block to the retired blocks. */
    add(block: number): void {
      push(block);
      passOn(thread, pool);
    },
  };
}

/** The place of an entry in the ring of a record. Entries are counted from the first one ever. */
function ringPlace(record: number, entry: number): number {
  return record + field.ring + (entry & (RING_SIZE - 1));
}

/** Adds a block that was never used to the thread's spare ones. */
function addUnused({ memory: { ints, lastBlock }, record }: Thread): void {
  if (Atomics.load(ints, header.blockCount) >= lastBlock) return;
  const block = Atomics.add(ints, header.blockCount, 1) + 1;
  if (block > lastBlock) return void Atomics.sub(ints, header.blockCount, 1);
  ints[ringPlace(record, ints[record + field.head]! - 1)] = block;
  ints[record + field.head]!--;
}

/** Puts blocks into the pool if there are more than a thread should hold. */
function passOn({ memory: { ints }, record }: Thread, pool: Pool): void {
  if (((ints[record + field.tail]! - ints[record + field.head]!) | 0) <= MAX_HELD) return;
  // Take them from the tail, because the caller may already be writing to the head.
  const end = ints[record + field.tail]! - MAX_CHAIN_ITEMS;
  ints[record + field.tail] = end;
  if (((end - ints[record + field.vetted]!) | 0) < 0) ints[record + field.vetted] = end;
  const last = { length: MAX_CHAIN_ITEMS };
  putChain(pool, Array.from(last, (_, index) => ints[ringPlace(record, end + index)]!));
}
