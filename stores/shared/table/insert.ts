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
 *
 * Where all slots of the bucket are in use, the key goes into one of the next seven buckets: the chain.
 * It is the home's intent that guards it there, too, because its target names any slot of the chain. The
 * intent also says how far keys of this home may stand, its reach, and step 2 raises that before step 3
 * fills the slot. So whoever reads the intent in step 1 knows how far to look. Keys never move, so none
 * is in two places. The reach sinks again in step 2, when step 1 found none of the home's keys so far
 * out: the intent is unchanged in between, so none has come.
 *
 * A place is taken between steps 2 and 3, so that of the threads that bring the same key one at a time
 * holds one. Whoever breaks an intent counts that, because its thread may have a place until it
 * notices: `places.ts`.
 */

import { errorMessage } from "../../../core/options/checks.ts";
import { StoreFullError } from "../../../core/errors.ts";
import { BLOCK, BUCKET, capacityOf, CHAIN, header, INTENT, SLOTS_PER_BUCKET } from "../layout.ts";
import { freeState } from "../states/block_layout.ts";
import { leftOf } from "../states/fresh_at.ts";
import { announce, announceMore, clearLast, nextWord, raised } from "../threads/announcements.ts";
import { count, counter } from "../threads/thread.ts";
import type { KeyDropping } from "./drop_keys.ts";
import type { Places } from "./places.ts";
import {
  bucketAfter,
  bucketOf,
  freshAtOf,
  fullError,
  lastOfChain,
  REACH_SHIFT,
  reachOf,
  settledWord,
  type Table,
  tagAt,
  tagOf,
  wordAt,
} from "./table.ts";

/** The bits of an intent that name the slot to be filled, from 1; 0 for none. */
const TARGET = (1 << REACH_SHIFT) - 1;
/** How far an intent's count is shifted. */
const COUNT_SHIFT = REACH_SHIFT + 2;
/** Reads of an intent before it is broken. */
const INTENT_PATIENCE = 100;

/** How new keys come into a table. */
export type KeyInsertion = ReturnType<typeof keyInsertion>;

/** The insertion of new keys into a table, closed over it. */
export function keyInsertion(
  table: Table,
  places: Places,
  { makePlace, noteFilled }: KeyDropping,
) {
  const { memory, thread, nodes, spares, throwsWhenFull, found, protectedSlots, evicted, isKeyOf } =
    table;
  const { ints, bytes, blocks, blockMask } = memory;
  // Results of the last scan: how far it looked, and how far out keys of the bucket stand. Two
  // slots follow, 0 if not found: the nearest slot that is empty or whose key is fresh again, and
  // the slot whose key gives away the least.
  const seen = {
    bucket: 0,
    intent: 0,
    looked: 0,
    farthest: 0,
    emptySlot: 0,
    emptyWord: 0,
    freshSlot: 0,
    freshWord: 0,
    leastSlot: 0,
    leastWord: 0,
    left: -1,
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
    } else if (leftOf(freshAt) > seen.left) {
      seen.leastSlot = slot;
      seen.leastWord = word;
      seen.left = leftOf(freshAt);
    }
  }

  /** Whether a slot has been seen into which the key can be put without another one's leaving. */
  function hasRoom(): boolean {
    return seen.emptySlot !== 0 || seen.freshSlot !== 0;
  }

  /**
   * Looks through a bucket of the chain for a key, and takes note of its slots unless there is room
   * nearer to the home; the key's block, announced, or 0.
   */
  function scanBucket(distance: number, low: number, high: number, now: number): number {
    const bucket = bucketAfter(memory, seen.bucket, distance);
    const isNoting = !hasRoom();
    for (let slot = bucket; slot < bucket + SLOTS_PER_BUCKET; slot++) {
      const word = settledWord(thread, slot);
      if (isKeyOf(slot, word, low, high)) {
        bytes[tagAt(slot)] = tagOf(high);
        return found.block;
      }
      const block = word & blockMask;
      if (distance > 0 && block !== 0 && homeOf(block) === seen.bucket) seen.farthest = distance;
      if (isNoting) noteSlot(slot, word, now);
    }
    seen.looked = distance;
    return 0;
  }

  function homeOf(block: number): number {
    return bucketOf(memory, ints[blocks + block * BLOCK]!);
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
    const slot = slotOfTarget((intent & TARGET) - 1);
    const word = settledWord(thread, slot);
    if (Atomics.load(ints, at) !== intent) return false;
    if (Atomics.compareExchange(ints, slot, word, raised(thread, word)) === word) {
      count(thread, counter.takenOver);
    }
    const cleared = (intent & ~TARGET) + (1 << COUNT_SHIFT) | 0;
    places.noteBroken();
    if (Atomics.compareExchange(ints, at, intent, cleared) !== intent) {
      places.noteSettled();
      return false;
    }
    seen.intent = cleared;
    return true;
  }

  function slotOfTarget(target: number): number {
    const distance = Math.floor(target / SLOTS_PER_BUCKET);
    return bucketAfter(memory, seen.bucket, distance) + target % SLOTS_PER_BUCKET;
  }

  /** Step 2: the intent that names a slot of the chain, 0 if another thread was faster. */
  function claim(slot: number): number {
    const { bucket, intent } = seen;
    const place = slot % BUCKET;
    let distance = 0;
    while (bucketAfter(memory, bucket, distance) + place !== slot) distance++;
    const reach = 32 - Math.clz32(Math.max(distance, seen.farthest));
    const counted = ((intent >>> COUNT_SHIFT) + 1) << COUNT_SHIFT;
    const target = 1 + distance * SLOTS_PER_BUCKET + place;
    const mine = counted | (reach << REACH_SHIFT) | target;
    return Atomics.compareExchange(ints, bucket + INTENT, intent, mine) === intent ? mine : 0;
  }

  /** Takes the intent back, or notices that it was broken; a place without a key was given back. */
  function unclaim(mine: number): void {
    const before = Atomics.compareExchange(ints, seen.bucket + INTENT, mine, mine & ~TARGET);
    if (before !== mine) places.noteSettled();
  }

  /** Step 3, under the intent; `isChanging`, and the intent, are left to the caller. */
  function fill(slot: number, word: number, high: number): boolean {
    const next = nextWord(memory, word & ~blockMask) | spares.spare();
    thread.isChanging = true;
    const isFilled = Atomics.compareExchange(ints, slot, word, next) === word;
    if (!isFilled) {
      count(thread, counter.contention);
      return false;
    }
    bytes[tagAt(slot)] = tagOf(high);
    spares.spent();
    count(thread, counter.inserted);
    noteFilled(slot);
    found.slot = slot;
    return true;
  }

  /** Puts the new key in the place of another that is fresh at `now`, which is `counted`. */
  function fillOver(
    slot: number,
    word: number,
    high: number,
    now: number,
    counted: number,
  ): boolean {
    announce(thread, word);
    const old = word & blockMask;
    // The word was not announced in between: by now it may belong to another key.
    if (wordAt(memory, slot) !== word || freshAtOf(memory, old) > now) return false;
    const mine = claim(slot);
    if (mine === 0) return false;
    const isFilled = fill(slot, word, high);
    unclaim(mine);
    if (!isFilled) return false;
    spares.add(old);
    if (counted === counter.dropped) count(thread, counted);
    else evicted(counted);
    freeState(nodes, old);
    return true;
  }

  /** Puts the new key into an empty slot, and takes a place for it. */
  function fillEmpty(slot: number, word: number, high: number, now: number): boolean {
    announce(thread, word);
    if (wordAt(memory, slot) !== word) return false;
    const mine = claim(slot);
    if (mine === 0) return false;
    if (!places.take() && !makePlaceBeside(word, mine, now)) return false;
    const isFilled = fill(slot, word, high);
    if (!isFilled) places.giveBack();
    unclaim(mine);
    return isFilled;
  }

  /** Takes the place of another key; takes the intent back if no key can go. */
  function makePlaceBeside(word: number, mine: number, now: number): boolean {
    let isMade = false;
    // The word that is announced changes with the keys that are looked at.
    announceMore(thread, word);
    try {
      // Whoever broke the intent may have taken the last place for this very key.
      isMade = places.areTaken() && Atomics.load(ints, seen.bucket + INTENT) === mine &&
        makePlace(now);
    } finally {
      if (!isMade) unclaim(mine);
      // Nobody is to wait for what a thread announces that pauses.
      announce(thread, isMade ? word : 0);
      clearLast(thread);
    }
    if (!isMade) places.pauseIfDue();
    return isMade;
  }

  /**
   * Puts the new key in the place of another key of its chain, when all slots of the chain are in
   * use.
   */
  function fillCrowded(high: number): boolean {
    const { leastSlot, leastWord } = seen;
    const isFull = Atomics.load(ints, header.keys) >= capacityOf(memory);
    if (throwsWhenFull || leastSlot === 0) throw isFull ? fullError(memory) : crowdedError();
    const counted = isFull ? counter.evicted : counter.evictedForSlots;
    return fillOver(leastSlot, leastWord, high, Infinity, counted);
  }

  return {
    /** The block of a key, announced; 0 if the key is in no slot that it may stand in. */
    scan(low: number, high: number, now: number): number {
      count(thread, counter.scans);
      const bucket = seen.bucket = bucketOf(memory, low);
      do seen.intent = Atomics.load(ints, bucket + INTENT); while (
        (seen.intent & TARGET) !== 0 && !breakIntent()
      );
      seen.emptySlot =
        seen.freshSlot =
        seen.leastSlot =
        seen.farthest =
          0;
      seen.left = -1;
      const reach = reachOf(memory, seen.intent);
      for (let distance = 0; distance <= reach; distance++) {
        const block = scanBucket(distance, low, high, now);
        if (block !== 0) return block;
      }
      return 0;
    },
    /**
     * Puts the spare block's key, which the last scan has not found, into the table.
     *
     * @returns Whether it went; if not, another thread was faster.
     * @throws {StoreFullError} If there is no room and none may be made.
     */
    insert(high: number, now: number): boolean {
      const last = lastOfChain(memory);
      // Beyond the reach there is no key of this home; 0 is no key's fingerprint.
      while (!hasRoom() && seen.looked < last) scanBucket(seen.looked + 1, NO_KEY, 0, now);
      const { emptySlot, emptyWord, freshSlot, freshWord } = seen;
      const isFilled = freshSlot !== 0
        ? fillOver(freshSlot, freshWord, high, now, counter.dropped)
        : emptySlot !== 0
        ? fillEmpty(emptySlot, emptyWord, high, now)
        : fillCrowded(high);
      if (isFilled) nodes.commit();
      thread.isChanging = false;
      return isFilled;
    },
  };
}

/** The low half of no fingerprint: those end in two bits of 0. */
const NO_KEY = 1;

function crowdedError(): StoreFullError {
  const slots = CHAIN * SLOTS_PER_BUCKET;
  const rule =
    `one of the ${slots} slots that its hash leads to must be free: a matter of chance, ` +
    "below one in 10^18, not of the capacity of sharedStore";
  return new StoreFullError(errorMessage("keep a new key", rule, "all in use"));
}
