/*
 * Makes room for a new key, or for its nodes, when all room is taken.
 *
 * A search examines the keys in 8 buckets after the last search of any thread, and in 8 random
 * buckets. From time to time it looks for a fresh key in 4,096 buckets. A search for nodes examines
 * 32 keys that hold some: each topmost node names its key. If no key is fresh, and the store may
 * evict, it evicts the key that gives away the least (`states/fresh_at.ts`). Chance decides among
 * equals.
 *
 * If all these keys have nothing left, the search examines the keys that this thread inserted last. A
 * flood of new keys is found there, however many other keys are used up. Such a key is evicted only
 * if it has more left. Otherwise the latest honest key would go, and not a key of the flood.
 */

import { errorMessage } from "../../../core/options/checks.ts";
import { StoreFullError } from "../../../core/errors.ts";
import { BUCKET, capacityOf, header, INTENT, NODE, SLOTS_PER_BUCKET } from "../layout.ts";
import { hasRoot } from "../states/block_layout.ts";
import { leftOf, NOTHING_LEFT } from "../states/fresh_at.ts";
import { announce } from "../threads/announcements.ts";
import { count, counter } from "../threads/thread.ts";
import {
  bucketAfter,
  bucketOf,
  freshAtOf,
  fullError,
  reachOf,
  removeKey,
  settledWord,
  type Table,
  wordAt,
} from "./table.ts";

/** Buckets to search from the hand, and random ones. A smaller table is searched as a whole. */
const BY_HAND = 8;
const BY_CHANCE = 8;
/** Keys with nodes to examine. */
const HOLDERS = 32;
/**
 * Buckets, or keys with nodes, that a long search examines, and how many of them in a millisecond.
 */
const SEARCHED_LONG = 4_096;
const SEARCHED_PER_MILLISECOND = 400;
/** Last filled slots to remember, and equal keys to choose from by chance. Both are powers of two. */
const REMEMBERED = 256;
const EQUALS = 256;

/** The functions that make room in a table. */
export type KeyDropping = ReturnType<typeof keyDropping>;

/** Makes the functions that make room in a table. */
export function keyDropping(table: Table) {
  const { memory, thread, found, protectedSlots, throwsWhenFull } = table;
  const { ints, buckets, bucketMask, blockMask, lastBlock, holders, lastNode } = memory;
  const filled = new Int32Array(REMEMBERED);
  // The slots and words of the last keys seen that give away equally little.
  const equalSlots = new Int32Array(EQUALS);
  const equalWords = new Int32Array(EQUALS);
  const search = {
    // Counts of a search: keys, and slots that changed meanwhile or that a batch holds.
    keysSeen: 0,
    changedSlot: 0,
    // The share that the keys that give away the least have left, and how many keys have it.
    left: -1,
    equals: 0,
    // The instant of the last long search, and the instant before which there is no other.
    longAt: Infinity,
    longAgainAt: 0,
    // The last node examined in a search for keys with nodes.
    node: 0,
    // Slots that this thread has filled.
    filled: 0,
  };

  /** Drops the key of a slot if it is still there, and fresh at `now`. */
  function dropAt(slot: number, word: number, now: number, withNodes: boolean): boolean {
    announce(thread, word);
    if (wordAt(memory, slot) === word) {
      const block = word & blockMask;
      if (freshAtOf(memory, block) > now || (withNodes && !hasRoot(memory, block))) return false;
      return removeKey(table, slot, word);
    }
    search.changedSlot = slot;
    return false;
  }

  /** Notes a key that may be evicted, if it gives away the least of all keys seen. */
  function noteLeast(slot: number, word: number, left: number): void {
    if (left < search.left) return;
    if (left > search.left) search.equals = 0;
    const place = search.equals++ & (EQUALS - 1);
    equalSlots[place] = slot;
    equalWords[place] = word;
    search.left = left;
  }

  function isProtected(slot: number): boolean {
    return protectedSlots.length > 0 && protectedSlots.includes(slot);
  }

  /**
   * Drops the first key of a bucket that is fresh again; otherwise notes a key that may be evicted.
   */
  function dropFreshOf(bucket: number, now: number, withNodes: boolean): boolean {
    for (let slot = bucket; slot < bucket + SLOTS_PER_BUCKET; slot++) {
      const word = ints[slot]!;
      const block = word & blockMask;
      if (block === 0) continue;
      search.keysSeen++;
      if (slot === found.slot || isProtected(slot)) continue;
      if (block > lastBlock) {
        search.changedSlot = slot;
        continue;
      }
      if (withNodes && !hasRoot(memory, block)) continue;
      // The word is not announced, so the block may be another key's: `dropAt` checks it again.
      const freshAt = freshAtOf(memory, block);
      if (freshAt <= now && dropAt(slot, word, now, withNodes)) return true;
      noteLeast(slot, word, leftOf(freshAt));
    }
    return false;
  }

  /** Searches buckets, and then further ones until it finds a key that may go. */
  function dropFreshIn(isLong: boolean, now: number): boolean {
    const all = bucketMask + 1;
    const isWhole = all <= BY_HAND + BY_CHANCE;
    const byHand = isWhole ? all : isLong ? Math.min(all, SEARCHED_LONG) : BY_HAND;
    for (let step = 0; step < byHand; step++) {
      if (dropFreshOf(bucketAtHand(), now, false)) return true;
    }
    if (isWhole) return false;
    for (let step = 0; step < BY_CHANCE; step++) {
      if (dropFreshOf(buckets + randomBelow(all) * BUCKET, now, false)) return true;
    }
    for (let step = byHand; search.equals === 0 && step < all; step++) {
      if (dropFreshOf(bucketAtHand(), now, false)) return true;
    }
    return false;
  }

  /** The bucket at the hand. The hand moves on, so the next search goes on where this one ends. */
  function bucketAtHand(): number {
    return buckets + (Atomics.add(ints, header.hand, 1) & bucketMask) * BUCKET;
  }

  /**
   * Examines keys that hold nodes, after those of the last search. It walks the nodes, because most
   * keys of a store may have none.
   */
  function dropFreshHolder(searched: number, now: number): boolean {
    for (let looked = 0, keys = 0; looked < lastNode && keys < searched; looked++) {
      search.node = search.node % lastNode + 1;
      const low = ints[holders + search.node]!;
      if (low === 0) continue;
      keys++;
      const home = bucketOf(memory, low);
      const reach = reachOf(memory, ints[home + INTENT]!);
      for (let distance = 0; distance <= reach; distance++) {
        if (dropFreshOf(bucketAfter(memory, home, distance), now, true)) return true;
      }
    }
    return false;
  }

  /** Drops the first key that it finds fresh. Returns whether it found one. */
  function dropFresh(now: number, withNodes: boolean): boolean {
    const isLong = now < search.longAt || now >= search.longAgainAt;
    search.keysSeen = search.changedSlot = search.equals = 0;
    search.left = -1;
    const isDropped = withNodes
      ? dropFreshHolder(isLong ? SEARCHED_LONG : HOLDERS, now)
      : dropFreshIn(isLong, now);
    if (isDropped) return true;
    // Settle the mark, because the batch's thread may have died.
    if (search.equals === 0 && search.changedSlot !== 0) settledWord(thread, search.changedSlot);
    if (isLong) {
      search.longAt = now;
      const searched = Math.min(bucketMask + 1, SEARCHED_LONG);
      search.longAgainAt = now + searched / SEARCHED_PER_MILLISECOND;
    }
    return false;
  }

  /**
   * Searches the keys that this thread inserted, from a random one on, for a key that has more left.
   */
  function lookAtFilled(withNodes: boolean): void {
    const start = randomBelow(REMEMBERED);
    for (let step = 0; step < REMEMBERED; step++) {
      const slot = filled[(start + step) & (REMEMBERED - 1)]!;
      const word = ints[slot]!;
      const block = word & blockMask;
      if (slot === 0 || block === 0 || block > lastBlock || isProtected(slot)) continue;
      if (withNodes && !hasRoot(memory, block)) continue;
      const left = leftOf(freshAtOf(memory, block));
      if (left > search.left) return noteLeast(slot, word, left);
    }
  }

  /**
   * Removes a key that is fresh again. If there is none, and keys in use may go, it removes the
   * examined key that gives away the least.
   */
  function drop(now: number, withNodes: boolean): boolean {
    if (dropFresh(now, withNodes)) {
      count(thread, counter.dropped);
      return true;
    }
    if (throwsWhenFull || search.equals === 0) return false;
    if (search.left <= NOTHING_LEFT) lookAtFilled(withNodes);
    const chosen = randomBelow(Math.min(search.equals, EQUALS));
    if (!dropAt(equalSlots[chosen]!, equalWords[chosen]!, Infinity, withNodes)) return false;
    table.evicted(withNodes ? counter.evictedForNodes : counter.evicted);
    return true;
  }

  return {
    /**
     * Drops a key of a full store.
     *
     * @returns Whether it did; if not, other threads were faster.
     * @throws {StoreFullError} If no key may go.
     */
    makePlace(now: number): boolean {
      if (drop(now, false)) return true;
      if (search.keysSeen > 0 && throwsWhenFull) throw fullError(memory);
      if (search.equals !== 0 || search.changedSlot !== 0) return false;
      // Unless other threads removed some of the keys, this search has seen all of them.
      if (search.keysSeen < capacityOf(memory)) return false;
      throw fullError(memory);
    },
    /**
     * Drops a key that holds nodes: a fresh key, or the key that gives away the least.
     *
     * @throws {StoreFullError} If no key may be dropped.
     */
    makeNodes(now: number): void {
      if (drop(now, true)) return;
      if (throwsWhenFull || (search.equals === 0 && search.changedSlot === 0)) {
        const rule = "maxBytes of sharedStore must be more than the keys in use take";
        const bytes = 4 * NODE * memory.lastNode;
        throw new StoreFullError(errorMessage("keep a window, a log or a long state", rule, bytes));
      }
    },
    /** Remembers a slot that this thread has filled. */
    noteFilled(slot: number): void {
      filled[search.filled++ & (REMEMBERED - 1)] = slot;
    },
  };
}

function randomBelow(bound: number): number {
  return Math.floor(Math.random() * bound);
}
