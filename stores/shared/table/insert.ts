/*
 * Puts a new key into its bucket, only once, whoever else tries the same in another slot:
 *
 *   1. read the intent, then look through the bucket: the key is in none of its slots
 *   2. swap the intent read in step 1 for one that names the slot to be filled
 *   3. swap that slot, expecting the word seen in step 1; then take the intent back
 *
 * Whoever finds another's intent in step 1 waits for some instants, then raises the version of the
 * slot that it names. From then on the other one's step 3 fails, or has been done and will be seen,
 * and the intent is taken back for it. So at most one insertion can succeed between anybody's steps
 * 1 and 3, and nobody waits for a thread that sleeps or has died. Since it is this thread's own swap
 * that fills the slot, it knows whether it did; the new key's block holds the state after the call,
 * and nothing need be undone.
 */

import { header, INTENT } from "../layout.ts";
import { freeState } from "../states/block_layout.ts";
import { announce } from "../threads/announcements.ts";
import { counter } from "../threads/thread_record.ts";
import { count } from "../threads/thread.ts";
import type { KeyDropping } from "./drop_keys.ts";
import { ACTIVE, POSITION } from "./scan.ts";
import { nextWord } from "./slot_word.ts";
import { fullError, type Table, tagAt, tagOf } from "./table.ts";

/**
 * Puts the spare block's key, which the last scan has not found, into the bucket.
 *
 * @returns Whether it went; if not, another thread was faster.
 * @throws {StoreFullError} If there is no room and none may be made.
 */
export type InsertKey = (high: number, now: number) => boolean;

/** The insertion of new keys into a table, closed over it. */
export function keyInsertion(table: Table, { takePlace }: KeyDropping): InsertKey {
  const { memory, thread, nodes, spares, throwsWhenFull, found, scanned } = table;
  const { ints, bytes, blockMask } = memory;

  /** Steps 2 and 3; `isChanging` is left to the caller. */
  function fill(slot: number, word: number, high: number): boolean {
    const { bucket, intent } = scanned;
    const mine = (((intent >>> 5) + 1) << 5) | ACTIVE | (slot - bucket);
    if (Atomics.compareExchange(ints, bucket + INTENT, intent, mine) !== intent) return false;
    const next = nextWord(memory, word & ~blockMask) | spares.spare();
    thread.isChanging = true;
    const isFilled = Atomics.compareExchange(ints, slot, word, next) === word;
    Atomics.compareExchange(ints, bucket + INTENT, mine, mine & ~(ACTIVE | POSITION));
    if (!isFilled) {
      count(thread, counter.contention);
      return false;
    }
    bytes[tagAt(slot)] = tagOf(high);
    spares.spent();
    count(thread, counter.inserted);
    found.slot = slot;
    return true;
  }

  /** Puts the new key in the place of another, which is `counted` as dropped or evicted. */
  function fillOver(slot: number, word: number, high: number, counted: number): boolean {
    announce(thread, word);
    if (ints[slot] !== word || !fill(slot, word, high)) return false;
    const old = word & blockMask;
    spares.add(old);
    count(thread, counted);
    freeState(nodes, old);
    return true;
  }

  function fillOne(high: number, now: number): boolean {
    const { emptySlot, emptyWord, freshSlot, freshWord, soonestSlot, soonestWord } = scanned;
    if (freshSlot !== 0) return fillOver(freshSlot, freshWord, high, counter.dropped);
    if (emptySlot === 0) {
      if (throwsWhenFull || soonestSlot === 0) throw fullError(memory);
      return fillOver(soonestSlot, soonestWord, high, counter.evicted);
    }
    if (!takePlace(now)) return false;
    announce(thread, emptyWord);
    const isFilled = ints[emptySlot] === emptyWord && fill(emptySlot, emptyWord, high);
    if (!isFilled) Atomics.sub(ints, header.keys, 1);
    return isFilled;
  }

  return function insertKey(high, now) {
    const isFilled = fillOne(high, now);
    if (isFilled) nodes.commit();
    thread.isChanging = false;
    return isFilled;
  };
}
