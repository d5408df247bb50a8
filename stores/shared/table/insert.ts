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
 * and nothing need be undone. A scan looks at every slot of the bucket, as step 1 says, also where no
 * tag has led to a key.
 */

import { header, INTENT, SLOTS_PER_BUCKET } from "../layout.ts";
import { freeState } from "../states/block_layout.ts";
import { announce, nextWord, raised } from "../threads/announcements.ts";
import { count, counter } from "../threads/thread.ts";
import type { KeyDropping } from "./drop_keys.ts";
import {
  bucketOf,
  freshAtOf,
  fullError,
  settledWord,
  type Table,
  tagAt,
  tagOf,
  wordAt,
} from "./table.ts";

/** The bit of an intent that says that there is one, and those that name the slot to be filled. */
const ACTIVE = 16;
const POSITION = 15;
/** Reads of an intent before it is broken. */
const INTENT_PATIENCE = 100;

/** How new keys come into a table. */
export type KeyInsertion = ReturnType<typeof keyInsertion>;

/** The insertion of new keys into a table, closed over it. */
export function keyInsertion(table: Table, { takePlace }: KeyDropping) {
  const { memory, thread, nodes, spares, throwsWhenFull, found, protectedSlots, evicted, isKeyOf } =
    table;
  const { ints, bytes, blockMask } = memory;
  // What the last scan saw, a slot of 0 where there was none: the first empty slot, one whose key is
  // fresh again, and the one whose key will be first.
  const seen = {
    bucket: 0,
    intent: 0,
    emptySlot: 0,
    emptyWord: 0,
    freshSlot: 0,
    freshWord: 0,
    soonestSlot: 0,
    soonestWord: 0,
    soonestAt: Infinity,
  };

  /** Takes note of a slot that another key could be put into. */
  function noteSlot(slot: number, word: number, now: number): void {
    const block = word & blockMask;
    if (block === 0) {
      if (seen.emptySlot !== 0) return;
      seen.emptySlot = slot;
      seen.emptyWord = word;
      return;
    }
    const freshAt = freshAtOf(memory, block);
    if (protectedSlots.includes(slot)) return;
    if (freshAt <= now) {
      seen.freshSlot = slot;
      seen.freshWord = word;
    } else if (freshAt < seen.soonestAt) {
      seen.soonestSlot = slot;
      seen.soonestWord = word;
      seen.soonestAt = freshAt;
    }
  }

  /**
   * Makes sure that the insertion of `intent` does not go on, and takes the intent back, lest it be
   * broken again and again.
   *
   * @returns Whether that intent was still there.
   */
  function breakIntent(): boolean {
    const { bucket, intent } = seen;
    const at = bucket + INTENT;
    for (let tries = 0; tries < INTENT_PATIENCE; tries++) {
      if (Atomics.load(ints, at) !== intent) return false;
    }
    const slot = bucket + (intent & POSITION);
    const word = settledWord(thread, slot);
    if (Atomics.load(ints, at) !== intent) return false;
    if (Atomics.compareExchange(ints, slot, word, raised(thread, word)) === word) {
      count(thread, counter.takenOver);
    }
    const cleared = ((intent >>> 5) + 1) << 5;
    if (Atomics.compareExchange(ints, at, intent, cleared) !== intent) return false;
    seen.intent = cleared;
    return true;
  }

  /** Steps 2 and 3; `isChanging` is left to the caller. */
  function fill(slot: number, word: number, high: number): boolean {
    const { bucket, intent } = seen;
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
  function fillOver(slot: number, word: number, high: number, now: number): boolean {
    announce(thread, word);
    const old = word & blockMask;
    // The word was not announced in between: it may be that of another key by now.
    if (wordAt(memory, slot) !== word || freshAtOf(memory, old) > now) return false;
    if (!fill(slot, word, high)) return false;
    spares.add(old);
    if (now === Infinity) evicted(counter.evicted);
    else count(thread, counter.dropped);
    freeState(nodes, old);
    return true;
  }

  function fillOne(high: number, now: number): boolean {
    const { emptySlot, emptyWord, freshSlot, freshWord, soonestSlot, soonestWord } = seen;
    if (freshSlot !== 0) return fillOver(freshSlot, freshWord, high, now);
    if (emptySlot === 0) {
      if (throwsWhenFull || soonestSlot === 0) throw fullError(memory);
      return fillOver(soonestSlot, soonestWord, high, Infinity);
    }
    if (!takePlace(now)) return false;
    announce(thread, emptyWord);
    const isFilled = wordAt(memory, emptySlot) === emptyWord && fill(emptySlot, emptyWord, high);
    if (!isFilled) Atomics.sub(ints, header.keys, 1);
    return isFilled;
  }

  return {
    /** The block of a key, announced; 0 if the key is in no slot of its bucket. */
    scan(low: number, high: number, now: number): number {
      count(thread, counter.scans);
      const bucket = seen.bucket = bucketOf(memory, low);
      do seen.intent = Atomics.load(ints, bucket + INTENT); while (
        (seen.intent & ACTIVE) !== 0 && !breakIntent()
      );
      seen.emptySlot = seen.freshSlot = seen.soonestSlot = 0;
      seen.soonestAt = Infinity;
      for (let slot = bucket; slot < bucket + SLOTS_PER_BUCKET; slot++) {
        const word = settledWord(thread, slot);
        if (isKeyOf(slot, word, low, high)) {
          bytes[tagAt(slot)] = tagOf(high);
          return found.block;
        }
        noteSlot(slot, word, now);
      }
      return 0;
    },
    /**
     * Puts the spare block's key, which the last scan has not found, into the bucket.
     *
     * @returns Whether it went; if not, another thread was faster.
     * @throws {StoreFullError} If there is no room and none may be made.
     */
    insert(high: number, now: number): boolean {
      const isFilled = fillOne(high, now);
      if (isFilled) nodes.commit();
      thread.isChanging = false;
      return isFilled;
    },
  };
}
