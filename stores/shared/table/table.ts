/*
 * The table of slots: a key belongs to one bucket of twelve, and stands in any of its slots.
 *
 * To find a key, its tag of seven bits is looked for among the bucket's twelve, then the
 * fingerprint in the block that the slot names. Tags are hints, written after the slot: when none
 * leads to the key, all blocks of the bucket are read.
 *
 * A known key is changed by one swap of its slot. A new key must come into the bucket only once,
 * whoever else tries the same in another slot. So an insertion is three steps:
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
 *
 * A slot whose key is fresh again is as good as an empty one. Slots cost four bytes and there are
 * four times as many as keys; what is bounded is the number of places, `capacity`, that the header
 * counts. A place is taken before a slot is filled, and given back after it was emptied; whoever
 * drops a key to make room has its place. A thread that dies in between leaves one place taken.
 *
 * When all places are taken, keys are looked at from where the last search ended: those of 32
 * buckets, and from time to time those of 4,096, for one that is fresh again.
 */

import { errorMessage } from "../../../core/options/checks.ts";
import { StoreFullError } from "../../../core/errors.ts";
import { settleMark } from "./multi_swap.ts";
import { blockKind, visitNodes } from "../states/state_layout.ts";
import { BLOCK, BUCKET, header, INTENT, type Memory, SLOTS_PER_BUCKET, TAGS } from "../layout.ts";
import type { Nodes } from "../memory/nodes.ts";
import { counter } from "../threads/thread_record.ts";
import type { ThreadSlot } from "../threads/thread.ts";

/** The bit of an intent that says that there is one. */
const ACTIVE = 16;
const POSITION = 15;
/** Reads of an intent before it is broken. */
const INTENT_PATIENCE = 100;
/** Buckets that are searched for a key to drop; those of a long search, and how many a millisecond. */
const SEARCHED = 32;
const SEARCHED_LONG = 4_096;
const SEARCHED_PER_MILLISECOND = 400;
/** Searches that find none who may go before the places taken are held to be those of dead threads. */
const FRUITLESS = 1_000;

/** The table as one thread works on it. */
export interface Table {
  /** The slot, the word and the block of the key that was found last. */
  readonly found: { slot: number; word: number; block: number };
  /** The block of a key, announced; 0 if no tag leads to it. */
  find(low: number, high: number): number;
  /** The same by looking at every slot of the bucket; 0 if the key is in none of them. */
  scan(low: number, high: number, now: number): number;
  /** Swaps the spare block, and the nodes made for it, in for the one found; whether nobody was faster. */
  replace(): boolean;
  /** Puts the spare block's key, which `scan` has not found, into the bucket; whether it went. */
  insert(high: number, now: number): boolean;
  /** Takes the key that was found out of the table; whether nobody was faster. */
  forget(): boolean;
  /** Drops a key that holds nodes: a fresh one, or one that is the first to be. */
  makeNodes(now: number): void;
  /** Keeps the key that was found last from being dropped to make room for another of the call. */
  protect(): void;
  /** Keeps no key but the one that was found last. */
  protectOne(): void;
  /** The smallest change of a word to one that nobody announces. */
  raised(word: number): number;
}

/** The table, for the thread that `self` stands for. */
export function openTable(memory: Memory, self: ThreadSlot, nodes: Nodes): Table {
  const { ints, floats, bytes, buckets, bucketMask, blocks, blockMask, lastBlock } = memory;
  const versionOne = blockMask + 1;
  const throwsWhenFull = ints[header.throwsWhenFull] === 1;
  const found = { slot: 0, word: 0, block: 0 };

  /** What the last scan saw of the bucket. */
  let line = 0;
  let intent = 0;
  let emptySlot = 0;
  let emptyWord = 0;
  let freshSlot = 0;
  let freshWord = 0;
  let soonestSlot = 0;
  let soonestWord = 0;
  let soonestAt = Infinity;
  /** What the last search saw: how many keys, a slot that changed, the key that is fresh first. */
  let keysSeen = 0;
  let changedSlot = 0;
  let firstSlot = 0;
  let firstWord = 0;
  /** When the last long search was, and until when there is none. */
  let searchedAt = Infinity;
  let searchesAgain = 0;
  let fruitless = 0;
  /** Slots of the batch that is worked on. */
  const protectedSlots: number[] = [];

  const lineOf = (low: number) => buckets + ((low >>> 4) & bucketMask) * BUCKET;
  const tagOf = (high: number) => (high >>> 25) + 1;
  const freshAtOf = (block: number) => floats[(blocks + block * BLOCK) / 2 + 1]!;

  function announce(word: number): void {
    // A slot never used holds 0, which would say that there is no call; it never comes back.
    ints[self.thread.announced] = word === 0 ? 1 : word;
  }

  function raised(word: number): number {
    let next = (word + versionOne) | 0;
    while (next === 0 || self.thread.isAnnounced(next)) next = (next + versionOne) | 0;
    return next;
  }

  /** The slot's word once no batch holds it, announced. */
  function settled(slot: number): number {
    for (;;) {
      const word = Atomics.load(ints, slot);
      if ((word & blockMask) > lastBlock) {
        settleMark(memory, self.thread, slot, word);
        continue;
      }
      announce(word);
      if (ints[slot] === word) return word;
    }
  }

  function find(low: number, high: number): number {
    const at = lineOf(low);
    const tags = at * 4 + TAGS;
    const tag = tagOf(high);
    for (let place = 0; place < SLOTS_PER_BUCKET; place++) {
      if (bytes[tags + place] !== tag) continue;
      const slot = at + place;
      let word = ints[slot]!;
      let block = word & blockMask;
      if (block > lastBlock) {
        word = settled(slot);
        block = word & blockMask;
      }
      announce(word);
      if (ints[slot] !== word) {
        place--;
        continue;
      }
      const start = blocks + block * BLOCK;
      if ((ints[start]! & ~3) === low && ints[start + 1] === high && block !== 0) {
        found.slot = slot;
        found.word = word;
        found.block = block;
        return block;
      }
    }
    return 0;
  }

  function scan(low: number, high: number, now: number): number {
    self.thread.count(counter.scans);
    line = lineOf(low);
    intent = Atomics.load(ints, line + INTENT);
    while ((intent & ACTIVE) !== 0 && !broken()) intent = Atomics.load(ints, line + INTENT);
    emptySlot = freshSlot = soonestSlot = 0;
    soonestAt = Infinity;
    for (let place = 0; place < SLOTS_PER_BUCKET; place++) {
      const slot = line + place;
      const word = settled(slot);
      const block = word & blockMask;
      if (block === 0) {
        if (emptySlot === 0) {
          emptySlot = slot;
          emptyWord = word;
        }
        continue;
      }
      const start = blocks + block * BLOCK;
      const isKey = (ints[start]! & ~3) === low && ints[start + 1] === high;
      const freshAt = freshAtOf(block);
      if (isKey) {
        bytes[line * 4 + TAGS + place] = tagOf(high);
        found.slot = slot;
        found.word = word;
        found.block = block;
        return block;
      }
      if (protectedSlots.includes(slot)) continue;
      if (freshAt <= now) {
        freshSlot = slot;
        freshWord = word;
      } else if (freshAt < soonestAt) {
        soonestSlot = slot;
        soonestWord = word;
        soonestAt = freshAt;
      }
    }
    return 0;
  }

  /**
   * Makes sure that the insertion of `intent` does not go on, and takes the intent back, lest it be
   * broken again and again; whether that intent was still there.
   */
  function broken(): boolean {
    for (let tries = 0; tries < INTENT_PATIENCE; tries++) {
      if (Atomics.load(ints, line + INTENT) !== intent) return false;
    }
    const slot = line + (intent & POSITION);
    const word = settled(slot);
    if (Atomics.load(ints, line + INTENT) !== intent) return false;
    if (Atomics.compareExchange(ints, slot, word, raised(word)) === word) {
      self.thread.count(counter.takenOver);
    }
    const cleared = ((intent >>> 5) + 1) << 5;
    if (Atomics.compareExchange(ints, line + INTENT, intent, cleared) !== intent) return false;
    intent = cleared;
    return true;
  }

  function replace(): boolean {
    const { thread } = self;
    const { slot, word, block } = found;
    const next = ((word & ~blockMask) + versionOne) | thread.spare();
    self.isChanging = true;
    if (Atomics.compareExchange(ints, slot, word, next) !== word) {
      thread.count(counter.contention);
      self.isChanging = false;
      return false;
    }
    thread.swapped(block);
    nodes.commit();
    self.isChanging = false;
    return true;
  }

  function insert(high: number, now: number): boolean {
    const isFilled = fillOne(high, now);
    if (isFilled) nodes.commit();
    self.isChanging = false;
    return isFilled;
  }

  function fillOne(high: number, now: number): boolean {
    if (freshSlot !== 0) return fillOver(freshSlot, freshWord, high, counter.dropped);
    if (emptySlot === 0) {
      if (throwsWhenFull || soonestSlot === 0) throw full(memory.capacity);
      return fillOver(soonestSlot, soonestWord, high, counter.evicted);
    }
    if (!takePlace(now)) return false;
    announce(emptyWord);
    const isFilled = ints[emptySlot] === emptyWord && fill(emptySlot, emptyWord, high);
    if (!isFilled) Atomics.sub(ints, header.keys, 1);
    return isFilled;
  }

  /** Puts the new key in the place of another, which is `counted` as dropped or evicted. */
  function fillOver(slot: number, word: number, high: number, counted: number): boolean {
    announce(word);
    if (ints[slot] !== word || !fill(slot, word, high)) return false;
    const old = word & blockMask;
    self.thread.add(old);
    self.thread.count(counted);
    visitNodes(memory, old, nodes.free);
    return true;
  }

  /** Steps 2 and 3; `isChanging` is left to the caller. */
  function fill(slot: number, word: number, high: number): boolean {
    const mine = (((intent >>> 5) + 1) << 5) | ACTIVE | (slot - line);
    if (Atomics.compareExchange(ints, line + INTENT, intent, mine) !== intent) return false;
    const next = ((word & ~blockMask) + versionOne) | self.thread.spare();
    self.isChanging = true;
    const isFilled = Atomics.compareExchange(ints, slot, word, next) === word;
    Atomics.compareExchange(ints, line + INTENT, mine, mine & ~(ACTIVE | POSITION));
    if (!isFilled) {
      self.thread.count(counter.contention);
      return false;
    }
    bytes[line * 4 + TAGS + slot - line] = tagOf(high);
    self.thread.spent();
    self.thread.count(counter.inserted);
    found.slot = slot;
    return true;
  }

  /** Takes a place for one more key: one that is free, or that of a key which is dropped. */
  function takePlace(now: number): boolean {
    for (;;) {
      const keys = Atomics.load(ints, header.keys);
      if (keys >= memory.capacity) break;
      if (Atomics.compareExchange(ints, header.keys, keys, keys + 1) === keys) return true;
    }
    if (drop(now, false)) {
      fruitless = 0;
      return true;
    }
    if (keysSeen > 0 && throwsWhenFull) throw full(memory.capacity);
    if (firstSlot !== 0 || changedSlot !== 0) return false;
    if (keysSeen < memory.capacity && ++fruitless < FRUITLESS) return false;
    fruitless = 0;
    // All that there are were found by this call.
    if (keysSeen > 0) throw full(memory.capacity);
    Atomics.add(ints, header.keys, 1);
    return true;
  }

  /**
   * Takes a key out of the table: one that is fresh again or, if one in use may go, of those looked
   * at the one that is fresh first. Its place is the caller's.
   */
  function drop(now: number, withNodes: boolean): boolean {
    if (dropFresh(now, withNodes)) return true;
    if (throwsWhenFull || firstSlot === 0) return false;
    announce(firstWord);
    if (ints[firstSlot] !== firstWord || !remove(firstSlot, firstWord)) return false;
    self.thread.count(counter.evicted);
    return true;
  }

  function dropFresh(now: number, withNodes: boolean): boolean {
    const all = bucketMask + 1;
    const isLong = now < searchedAt || now >= searchesAgain;
    const searched = Math.min(all, isLong ? SEARCHED_LONG : SEARCHED);
    let firstAt = Infinity;
    firstSlot = 0;
    keysSeen = 0;
    changedSlot = 0;
    // On, if need be, to the first key that may go.
    for (let bucket = 0; bucket < searched || (firstSlot === 0 && bucket < all); bucket++) {
      const at = buckets + (Atomics.add(ints, header.hand, 1) & bucketMask) * BUCKET;
      for (let slot = at; slot < at + SLOTS_PER_BUCKET; slot++) {
        const word = ints[slot]!;
        const block = word & blockMask;
        if (block === 0) continue;
        keysSeen++;
        if (slot === found.slot || protectedSlots.includes(slot)) continue;
        announce(word);
        if (block > lastBlock || ints[slot] !== word) {
          changedSlot = slot;
          continue;
        }
        if (withNodes && (ints[blocks + block * BLOCK]! & 3) === blockKind.cells) continue;
        const freshAt = freshAtOf(block);
        if (freshAt <= now && remove(slot, word)) {
          self.thread.count(counter.dropped);
          return true;
        }
        if (firstSlot === 0 || freshAt < firstAt) {
          firstSlot = slot;
          firstWord = word;
          firstAt = freshAt;
        }
      }
    }
    // Lest all wait for a batch whose thread has died.
    if (firstSlot === 0 && changedSlot !== 0) settled(changedSlot);
    if (isLong) {
      searchedAt = now;
      searchesAgain = now + searched / SEARCHED_PER_MILLISECOND;
    }
    return false;
  }

  function remove(slot: number, word: number): boolean {
    const next = raised(word & ~blockMask);
    self.isChanging = true;
    const isRemoved = Atomics.compareExchange(ints, slot, word, next) === word;
    if (isRemoved) {
      bytes[(slot - (slot % BUCKET)) * 4 + TAGS + slot % BUCKET] = 0;
      const block = word & blockMask;
      visitNodes(memory, block, nodes.free);
      self.thread.add(block);
    }
    self.isChanging = false;
    return isRemoved;
  }

  function forget(): boolean {
    if (!remove(found.slot, found.word)) return false;
    Atomics.sub(ints, header.keys, 1);
    return true;
  }

  function makeNodes(now: number): void {
    if (drop(now, true)) Atomics.sub(ints, header.keys, 1);
    else if (throwsWhenFull || (firstSlot === 0 && changedSlot === 0)) throw full(memory.capacity);
  }

  function protect(): void {
    protectedSlots.push(found.slot);
  }

  function protectOne(): void {
    protectedSlots.length = 0;
  }

  return {
    found,
    find,
    scan,
    replace,
    insert,
    forget,
    makeNodes,
    protect,
    protectOne,
    raised,
  };
}

function full(capacity: number): StoreFullError {
  const rule = "sharedStore must have room in its capacity or maxBytes for a key in use";
  return new StoreFullError(errorMessage("keep a new key", rule, capacity));
}
