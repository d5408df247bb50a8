/*
 * Inserts a new key into its bucket. Two threads may bring the same key at once, and see different
 * free slots. The bucket's intent makes sure that only one of them inserts it:
 *
 *   1. read the intent, then scan the bucket: no slot holds the key
 *   2. swap the intent read in step 1 for one that names the slot to be filled
 *   3. swap that slot, expecting the word seen in step 1; then take the intent back
 *
 * A thread that finds another's intent in step 1 looks at it for a while, then breaks it: it raises
 * the version of the slot that the intent names. If the other thread has not done its step 3 by
 * then, that step fails; if it has, the scan will see the key. Then the thread takes the intent
 * back on the other's behalf. So at most one insertion succeeds between the steps 1 and 3 of any
 * thread, and no thread waits for one that sleeps or has died. A thread fills the slot by its own
 * swap, so it knows whether it succeeded. The new block already holds the state after the call, so
 * nothing has to be undone. Tags are only hints, so a scan looks at every slot, even if no tag led
 * to a key.
 *
 * If all slots of the home bucket are in use, the key goes into one of the next seven buckets of
 * the chain. The intent of its home guards those slots too, because its target names any slot of
 * the chain. The intent also holds the reach: how far from this home its keys may stand. Step 2
 * raises the reach before step 3 fills the slot, so a thread that reads the intent in step 1 knows
 * how far to look. Keys never move, so none stands in two slots. Step 2 lowers the reach again if
 * step 1 found no key of this home so far out. The intent has not changed in between, so no such
 * key has come.
 *
 * In a full store, the thread removes another key between steps 2 and 3. It looks first whether its
 * intent still stands, because a thread that broke it may have inserted this very key. A key is
 * counted only after step 3, so threads that insert at one moment may each exceed the capacity by
 * one. If it were counted before, an insertion that is broken would take a place for a while, or for
 * good if its thread died, and a key would be evicted although there is room.
 */

import { errorMessage } from "../../../core/options/checks.ts";
import { StoreFullError } from "../../../core/errors.ts";
import { BLOCK, BUCKET, CHAIN, header, INTENT, SLOTS_PER_BUCKET } from "../layout.ts";
import { freeState } from "../states/block_layout.ts";
import { leftOf } from "../states/fresh_at.ts";
import { announce, announceMore, clearLast, nextWord, raised } from "../threads/announcements.ts";
import { count, counter } from "../threads/thread.ts";
import type { KeyDropping } from "./drop_keys.ts";
import {
  bucketAfter,
  bucketOf,
  freshAtOf,
  fullError,
  isFull,
  lastOfChain,
  REACH_SHIFT,
  reachOf,
  settledWord,
  type Table,
  tagAt,
  tagOf,
  wordAt,
} from "./table.ts";

/** The bits of an intent that name the slot to be filled, counted from 1; 0 names none. */
const TARGET = (1 << REACH_SHIFT) - 1;
/** Where an intent's count begins, in bits. */
const COUNT_SHIFT = REACH_SHIFT + 2;
/** Reads of an intent before it is broken. */
const INTENT_PATIENCE = 100;

/** The function that inserts new keys into a table. */
export type KeyInsertion = ReturnType<typeof keyInsertion>;

/** Makes the function that inserts new keys into a table. */
export function keyInsertion(
  table: Table,
  { makePlace, noteFilled }: KeyDropping,
) {
  const { memory, thread, nodes, spares, throwsWhenFull, found, protectedSlots, evicted, isKeyOf } =
    table;
  const { ints, bytes, blocks, blockMask } = memory;
  // Results of the last scan: the intent that it read, how far it looked, and how far out the
  // bucket's keys stand. Then the nearest slots, with their words: an empty one, one whose key is
  // fresh again, and the one whose key gives away the least; each is 0 unless found.
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

  /** Notes a slot into which a new key could be put. */
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

  /** Whether the scan has seen a slot for the new key that costs no other key its state. */
  function hasRoom(): boolean {
    return seen.emptySlot !== 0 || seen.freshSlot !== 0;
  }

  /**
   * Scans a bucket of the chain for a key, and notes its slots unless there is room nearer to the
   * home.
   *
   * @returns The key's block, announced; 0 if it is not there.
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
   * Breaks the intent that the scan has read: the insertion that it announces cannot succeed from
   * now on. Takes the intent back, so that it is broken once.
   *
   * @returns Whether this thread took it back; if not, it has changed.
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
      count(thread, counter.takeovers);
    }
    const cleared = (intent & ~TARGET) + (1 << COUNT_SHIFT) | 0;
    if (Atomics.compareExchange(ints, at, intent, cleared) !== intent) return false;
    seen.intent = cleared;
    return true;
  }

  function slotOfTarget(target: number): number {
    const distance = Math.floor(target / SLOTS_PER_BUCKET);
    return bucketAfter(memory, seen.bucket, distance) + target % SLOTS_PER_BUCKET;
  }

  /**
   * Step 2: sets the intent for a slot of the chain, and returns it; 0 if another thread was
   * faster.
   */
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

  /** Takes the intent back, unless it was broken. */
  function unclaim(mine: number): void {
    Atomics.compareExchange(ints, seen.bucket + INTENT, mine, mine & ~TARGET);
  }

  /** Step 3, under the intent. The caller takes the intent back, and resets `isChanging`. */
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

  /**
   * Puts the new key into the slot of another key that is fresh at `now`.
   *
   * @param counted The counter of the event.
   */
  function fillOver(
    slot: number,
    word: number,
    high: number,
    now: number,
    counted: number,
  ): boolean {
    announce(thread, word);
    const old = word & blockMask;
    // The scan did not leave the word announced, so its block may belong to another key by now.
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

  /** Puts the new key into an empty slot, and counts it. */
  function fillEmpty(slot: number, word: number, high: number, now: number): boolean {
    announce(thread, word);
    if (wordAt(memory, slot) !== word) return false;
    const mine = claim(slot);
    if (mine === 0) return false;
    if (isFull(memory) && !makePlaceBeside(word, mine, now)) return false;
    const isFilled = fill(slot, word, high);
    if (isFilled) Atomics.add(ints, header.keys, 1);
    unclaim(mine);
    return isFilled;
  }

  /** Removes another key. If none was removed, it takes the intent back. */
  function makePlaceBeside(word: number, mine: number, now: number): boolean {
    let isMade = false;
    // The search announces the words of the keys that it looks at, one after another.
    announceMore(thread, word);
    try {
      isMade = Atomics.load(ints, seen.bucket + INTENT) === mine && makePlace(now);
    } finally {
      if (!isMade) unclaim(mine);
      announce(thread, word);
      clearLast(thread);
    }
    return isMade;
  }

  /** Puts the new key into the slot of another key of its chain: all 96 slots are in use. */
  function fillCrowded(high: number): boolean {
    const { leastSlot, leastWord } = seen;
    const hasAll = isFull(memory);
    if (throwsWhenFull || leastSlot === 0) throw hasAll ? fullError(memory) : crowdedError();
    const counted = hasAll ? counter.evicted : counter.evictedForSlots;
    return fillOver(leastSlot, leastWord, high, Infinity, counted);
  }

  return {
    /** Step 1: scans for a key. Returns its block, announced; 0 if no slot holds the key. */
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
     * Inserts the key in the spare block, which the last scan has not found.
     *
     * @returns Whether it was inserted; if not, another thread was faster.
     * @throws {StoreFullError} If there is no room, and no other key may go.
     */
    insert(high: number, now: number): boolean {
      const last = lastOfChain(memory);
      // Beyond the reach there is no key of this home, so these scans only look for a free slot.
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

/** A low half that no fingerprint has: the last two bits of every fingerprint's are 0. */
const NO_KEY = 1;

function crowdedError(): StoreFullError {
  const slots = CHAIN * SLOTS_PER_BUCKET;
  const rule =
    `one of the ${slots} slots that its hash leads to must be free: a matter of chance, ` +
    "below one in 10^18, not of the capacity of sharedStore";
  return new StoreFullError(errorMessage("keep a new key", rule, "all in use"));
}
