/*
 * The table of slots. A key belongs to one bucket of twelve slots, its home, and stands in any of
 * them. If all twelve were in use when it came, it stands in one of the next seven buckets. The
 * home's intent holds the reach: how far from home its keys may stand. It is 0 for all but one home
 * in a thousand.
 *
 * To find a key, a thread compares its tag of seven bits with the bucket's twelve tags. Where a tag
 * agrees, it compares the fingerprint in the block that the slot names. Tags are hints, written after
 * the slot. So if no tag leads to the key, the thread reads all blocks within reach (`insert.ts`).
 * One swap of its slot changes a known key. New keys come into the table by `insert.ts`.
 *
 * A slot whose key is fresh again is as good as an empty slot. Slots cost four bytes, and there are
 * four times as many as keys. The bound is on keys, of which there are `capacity`. The header counts
 * them: a key is counted after its slot was filled, and discounted before its slot is emptied. So the
 * count is never above the keys, and no key is dropped or refused for lack of room that there is. It
 * may be below them, by the threads that are in between: as many keys more than `capacity` may stand
 * in the table, and one more for each thread that died in between.
 */

import { errorMessage } from "../../../core/options/checks.ts";
import { StoreFullError } from "../../../core/errors.ts";
import {
  BLOCK,
  BUCKET,
  capacityOf,
  CHAIN,
  header,
  INTENT,
  type Memory,
  SLOTS_PER_BUCKET,
  TAGS,
} from "../layout.ts";
import type { Nodes } from "../allocator/nodes.ts";
import type { SpareBlocks } from "../allocator/spare_blocks.ts";
import { freeState, hasRoot } from "../states/block_layout.ts";
import { announce, nextWord, raised } from "../threads/announcements.ts";
import { count, counter, type Thread } from "../threads/thread.ts";
import { settleMark } from "./multi_swap.ts";

/** Where the reach stands in an intent: the bits below name a slot of the chain, 1 to 96. */
export const REACH_SHIFT = 7;

/**
 * The table as one thread sees it. Each call overwrites what the thread has noted of the last one.
 */
export interface Table {
  readonly memory: Memory;
  readonly thread: Thread;
  readonly nodes: Nodes;
  readonly spares: SpareBlocks;
  readonly throwsWhenFull: boolean;
  /** Counts a key that was forgotten although it held use, and reports it. */
  readonly evicted: (what: number) => void;
  /** The last key found. */
  readonly found: FoundKey;
  /** Slots of a batch's keys. They are not dropped to make room for another key of the batch. */
  readonly protectedSlots: number[];
  /** Finds a key by its tag: its block, announced, or 0 if no tag leads to it. */
  find(low: number, high: number): number;
  /** Whether an announced word of a slot names a key's block. If it does, this is the key found. */
  isKeyOf(slot: number, word: number, low: number, high: number): boolean;
  /**
   * Swaps the spare block, and the nodes made for it, in for the block found. Returns whether it did;
   * if not, another thread was faster.
   */
  replace(): boolean;
}

/** The place of a key: its slot, the word there, and the block that the word names. */
export interface FoundKey {
  slot: number;
  word: number;
  block: number;
}

/**
 * Opens the table for a thread. `find` and `replace`, which change known keys, are closed over it,
 * because that is fastest.
 */
export function openTable(
  memory: Memory,
  thread: Thread,
  nodes: Nodes,
  spares: SpareBlocks,
  evicted: (what: number) => void,
): Table {
  const { ints, bytes, blocks, blockMask } = memory;
  const found: FoundKey = { slot: 0, word: 0, block: 0 };

  function isKeyOf(slot: number, word: number, low: number, high: number): boolean {
    const block = word & blockMask;
    const start = blocks + block * BLOCK;
    if (block === 0 || (ints[start]! & ~3) !== low || ints[start + 1] !== high) return false;
    found.slot = slot;
    found.word = word;
    found.block = block;
    return true;
  }

  return {
    memory,
    thread,
    nodes,
    spares,
    throwsWhenFull: ints[header.throwsWhenFull] === 1,
    evicted,
    found,
    protectedSlots: [],

    find(low, high) {
      const home = bucketOf(memory, low);
      const tag = tagOf(high);
      let bucket = home;
      for (let distance = 1;; distance++) {
        const tags = bucket * 4 + TAGS;
        for (let index = 0; index < SLOTS_PER_BUCKET; index++) {
          if (bytes[tags + index] !== tag) continue;
          const slot = bucket + index;
          if (isKeyOf(slot, settledWord(thread, slot), low, high)) return found.block;
        }
        // A plain read is enough for a hint, like the reads of tags.
        if (distance > reachOf(memory, ints[home + INTENT]!)) return 0;
        bucket = bucketAfter(memory, home, distance);
      }
    },

    isKeyOf,

    replace() {
      const { slot, word, block } = found;
      const next = nextWord(memory, word & ~blockMask) | spares.spare();
      thread.isChanging = true;
      if (Atomics.compareExchange(ints, slot, word, next) !== word) {
        count(thread, counter.contention);
        thread.isChanging = false;
        return false;
      }
      spares.spent();
      spares.add(block);
      nodes.commit();
      thread.isChanging = false;
      return true;
    },
  };
}

/** The word of a slot. The reader then also sees every write before that word was put there. */
export function wordAt({ ints, keepsOrder }: Memory, slot: number): number {
  return keepsOrder ? ints[slot]! : Atomics.load(ints, slot);
}

/**
 * Whether a slot, and the nodes of its state, have not changed since they were read. The slot is read
 * atomically on every processor, because an engine may merge two plain reads of a word.
 */
export function isUnchanged(memory: Memory, slot: number, word: number): boolean {
  const { ints, keepsOrder, blockMask } = memory;
  if (keepsOrder || !hasRoot(memory, word & blockMask)) return Atomics.load(ints, slot) === word;
  // A load might pass the reads of nodes, which another thread may reuse. A swap cannot pass them.
  return Atomics.compareExchange(ints, slot, word, word) === word;
}

/** Whether the store holds as many keys as it may. */
export function isFull(memory: Memory): boolean {
  return Atomics.load(memory.ints, header.keys) >= capacityOf(memory);
}

/** Removes the key of a slot. Returns whether it did; if not, another thread was faster. */
export function removeKey(
  { memory, thread, nodes, spares }: Table,
  slot: number,
  word: number,
): boolean {
  const { ints, bytes, blockMask } = memory;
  const next = raised(thread, word & ~blockMask);
  thread.isChanging = true;
  Atomics.sub(ints, header.keys, 1);
  const isRemoved = Atomics.compareExchange(ints, slot, word, next) === word;
  if (isRemoved) {
    bytes[tagAt(slot)] = 0;
    const block = word & blockMask;
    freeState(nodes, block);
    spares.add(block);
  } else Atomics.add(ints, header.keys, 1);
  thread.isChanging = false;
  return isRemoved;
}

/** The slot's word once no batch holds it, announced if it names a block. */
export function settledWord(thread: Thread, slot: number): number {
  const { blockMask, lastBlock } = thread.memory;
  for (;;) {
    const word = wordAt(thread.memory, slot);
    if ((word & blockMask) > lastBlock) {
      settleMark(thread, slot, word);
      continue;
    }
    if ((word & blockMask) === 0) return word;
    announce(thread, word);
    if (wordAt(thread.memory, slot) === word) return word;
  }
}

/** The place of a fingerprint's bucket. */
export function bucketOf({ buckets, bucketMask }: Memory, low: number): number {
  return buckets + ((low >>> 4) & bucketMask) * BUCKET;
}

/** The bucket `distance` places after another one. The first follows the last. */
export function bucketAfter(
  { buckets, bucketMask }: Memory,
  bucket: number,
  distance: number,
): number {
  return buckets + ((bucket - buckets + distance * BUCKET) & (bucketMask * BUCKET));
}

/** How far from their home the keys of a bucket may stand, by its intent. */
export function reachOf({ bucketMask }: Memory, intent: number): number {
  const reach = (1 << ((intent >>> REACH_SHIFT) & 3)) - 1;
  return reach > bucketMask ? bucketMask : reach;
}

/** The last bucket of a chain, counted from its home. In a small table, chains are shorter. */
export function lastOfChain({ bucketMask }: Memory): number {
  return Math.min(CHAIN - 1, bucketMask);
}

/**
 * The first slot in a key's bucket that has the key's tag, or 0. The key may then still stand in a
 * later bucket.
 */
export function slotByTag(memory: Memory, low: number, high: number): number {
  const bucket = bucketOf(memory, low);
  const tags = bucket * 4 + TAGS;
  const tag = tagOf(high);
  for (let index = 0; index < SLOTS_PER_BUCKET; index++) {
    if (memory.bytes[tags + index] === tag) return bucket + index;
  }
  return 0;
}

/** The tag of a fingerprint, which is never 0. */
export function tagOf(high: number): number {
  return (high >>> 25) + 1;
}

/** The place of a slot's tag, in bytes. */
export function tagAt(slot: number): number {
  const place = slot % BUCKET;
  return (slot - place) * 4 + TAGS + place;
}

/**
 * The instant at which the key of a block is fresh again, and the share of its capacity that is left
 * (`states/fresh_at.ts`).
 */
export function freshAtOf({ floats, blocks }: Memory, block: number): number {
  return floats[(blocks + block * BLOCK) / 2 + 1]!;
}

/** The error of a store without a place for one more key. */
export function fullError(memory: Memory): StoreFullError {
  const rule = "the capacity of sharedStore must be more than the keys in use";
  return new StoreFullError(errorMessage("keep a new key", rule, capacityOf(memory)));
}
