/*
 * Room for a new key, or for its nodes, when all that there is has been taken.
 *
 * Keys are looked at from where the last search ended, in any thread: those of 32 buckets, and from
 * time to time those of 4,096, for one that is fresh again. For nodes as many keys that hold some are
 * looked at: each topmost node names its key. If none is fresh, the one that will be first of those
 * looked at is evicted, where the store allows it.
 */

import { errorMessage } from "../../../core/options/checks.ts";
import { StoreFullError } from "../../../core/errors.ts";
import { BUCKET, capacityOf, header, NODE, SLOTS_PER_BUCKET } from "../layout.ts";
import { hasRoot } from "../states/block_layout.ts";
import { announce } from "../threads/announcements.ts";
import { count, counter } from "../threads/thread.ts";
import {
  bucketOf,
  freshAtOf,
  fullError,
  removeKey,
  settledWord,
  type Table,
  wordAt,
} from "./table.ts";

/** Buckets that are searched for a key to drop; those of a long search, and how many a millisecond. */
const SEARCHED = 32;
const SEARCHED_LONG = 4_096;
const SEARCHED_PER_MILLISECOND = 400;
/** Searches that find none who may go before the places taken are held to be those of dead threads. */
const FRUITLESS = 1_000;

/** How room is made in a table. */
export type KeyDropping = ReturnType<typeof keyDropping>;

/** How room is made in a table, closed over it. */
export function keyDropping(table: Table) {
  const { memory, thread, found, protectedSlots, throwsWhenFull } = table;
  const { ints, buckets, bucketMask, blockMask, lastBlock, holders, lastNode } = memory;
  const search = {
    // How many keys; a slot that changed meanwhile, or a batch holds; the key that is fresh first.
    keysSeen: 0,
    changedSlot: 0,
    firstSlot: 0,
    firstWord: 0,
    firstAt: Infinity,
    // When the last long search was, and until when there is none.
    longAt: Infinity,
    longAgainAt: 0,
    // Searches one after another that found no key that may go.
    fruitless: 0,
    // The node that was looked at last for a key that holds some.
    node: 0,
  };

  const mayGo = (block: number, now: number, withNodes: boolean) =>
    freshAtOf(memory, block) <= now &&
    (!withNodes || hasRoot(memory, block));

  /** Drops the key of a slot if it is still there, and fresh at `now`. */
  function dropAt(slot: number, word: number, now: number, withNodes: boolean): boolean {
    announce(thread, word);
    if (wordAt(memory, slot) === word) {
      return mayGo(word & blockMask, now, withNodes) && removeKey(table, slot, word);
    }
    search.changedSlot = slot;
    return false;
  }

  /**
   * Drops the first key of a bucket that is fresh again; else takes note of one that may be
   * evicted.
   */
  function dropFreshOf(bucket: number, now: number, withNodes: boolean): boolean {
    for (let slot = bucket; slot < bucket + SLOTS_PER_BUCKET; slot++) {
      const word = ints[slot]!;
      const block = word & blockMask;
      if (block === 0) continue;
      search.keysSeen++;
      if (slot === found.slot || protectedSlots.includes(slot)) continue;
      if (block > lastBlock) {
        search.changedSlot = slot;
        continue;
      }
      // Not announced, so the block may be another key's: it is looked at again before one is dropped.
      if (mayGo(block, now, withNodes) && dropAt(slot, word, now, withNodes)) return true;
      if (!mayGo(block, Infinity, withNodes)) continue;
      const freshAt = freshAtOf(memory, block);
      if (search.firstSlot !== 0 && freshAt >= search.firstAt) continue;
      search.firstSlot = slot;
      search.firstWord = word;
      search.firstAt = freshAt;
    }
    return false;
  }

  /** Looks through buckets, and on, if need be, to the first key that may go. */
  function dropFreshIn(all: number, searched: number, now: number): boolean {
    for (let bucket = 0; bucket < searched || (search.firstSlot === 0 && bucket < all); bucket++) {
      const place = Atomics.add(ints, header.hand, 1) & bucketMask;
      if (dropFreshOf(buckets + place * BUCKET, now, false)) return true;
    }
    return false;
  }

  /**
   * Looks at keys that hold nodes, from where the last search ended: most of a store's may have
   * none.
   */
  function dropFreshHolder(now: number, searched: number): boolean {
    for (let looked = 0, keys = 0; looked < lastNode && keys < searched; looked++) {
      search.node = search.node % lastNode + 1;
      const low = ints[holders + search.node]!;
      if (low === 0) continue;
      keys++;
      if (dropFreshOf(bucketOf(memory, low), now, true)) return true;
    }
    return false;
  }

  /** Drops the first key that is fresh again, of those looked at; whether there was one. */
  function dropFresh(now: number, withNodes: boolean): boolean {
    const all = bucketMask + 1;
    const isLong = now < search.longAt || now >= search.longAgainAt;
    const searched = Math.min(all, isLong ? SEARCHED_LONG : SEARCHED);
    search.firstSlot = search.keysSeen = search.changedSlot = 0;
    const isDropped = withNodes
      ? dropFreshHolder(now, isLong ? SEARCHED_LONG : SEARCHED)
      : dropFreshIn(all, searched, now);
    if (isDropped) return true;
    // Lest all wait for a batch whose thread has died.
    if (search.firstSlot === 0 && search.changedSlot !== 0) settledWord(thread, search.changedSlot);
    if (isLong) {
      search.longAt = now;
      search.longAgainAt = now + searched / SEARCHED_PER_MILLISECOND;
    }
    return false;
  }

  /**
   * Takes a key out that is fresh again or, if one in use may go, of those looked at the one that is
   * fresh first. Its place is the caller's.
   */
  function drop(now: number, withNodes: boolean): boolean {
    if (dropFresh(now, withNodes)) {
      count(thread, counter.dropped);
      return true;
    }
    if (throwsWhenFull || search.firstSlot === 0) return false;
    if (!dropAt(search.firstSlot, search.firstWord, Infinity, withNodes)) return false;
    table.evicted(withNodes ? counter.evictedForNodes : counter.evicted);
    return true;
  }

  return {
    /**
     * Takes a place for one more key: one that is free, or that of a key which is dropped.
     *
     * @returns Whether it has one; if not, other threads were faster.
     * @throws {StoreFullError} If there is no room and none may be made.
     */
    takePlace(now: number): boolean {
      const capacity = capacityOf(memory);
      for (;;) {
        const keys = Atomics.load(ints, header.keys);
        if (keys >= capacity) break;
        if (Atomics.compareExchange(ints, header.keys, keys, keys + 1) === keys) return true;
      }
      if (drop(now, false)) {
        search.fruitless = 0;
        return true;
      }
      if (search.keysSeen > 0 && throwsWhenFull) throw fullError(memory);
      if (search.firstSlot !== 0 || search.changedSlot !== 0) return false;
      if (search.keysSeen < capacity && ++search.fruitless < FRUITLESS) return false;
      search.fruitless = 0;
      // All that there are were found by this call.
      if (search.keysSeen > 0) throw fullError(memory);
      Atomics.add(ints, header.keys, 1);
      return true;
    },
    /**
     * Drops a key that holds nodes: a fresh one, or one that is the first to be.
     *
     * @throws {StoreFullError} If no key may be dropped.
     */
    makeNodes(now: number): void {
      if (drop(now, true)) Atomics.sub(ints, header.keys, 1);
      else if (throwsWhenFull || (search.firstSlot === 0 && search.changedSlot === 0)) {
        const rule = "maxBytes of sharedStore must be more than the keys in use take";
        const bytes = 4 * NODE * memory.lastNode;
        throw new StoreFullError(errorMessage("keep a window, a log or a long state", rule, bytes));
      }
    },
  };
}
