/*
 * A look at every slot of a bucket, for a key to which no tag leads. What it sees is what an
 * insertion goes by, so it first makes sure that nobody else's is under way (see `insert.ts`).
 */

import { BLOCK, INTENT, SLOTS_PER_BUCKET } from "../layout.ts";
import { counter } from "../threads/thread_record.ts";
import { count } from "../threads/thread.ts";
import { raised } from "./slot_word.ts";
import { bucketOf, freshAtOf, settledWord, type Table, tagAt, tagOf } from "./table.ts";

/** The bit of an intent that says that there is one, and those that name the slot to be filled. */
export const ACTIVE = 16;
export const POSITION = 15;
/** Reads of an intent before it is broken. */
const INTENT_PATIENCE = 100;

/** The block of a key, announced; 0 if the key is in no slot of its bucket. */
export type ScanBucket = (low: number, high: number, now: number) => number;

/** The scan of a table, closed over it; what it sees is noted in `scanned`. */
export function bucketScan(table: Table): ScanBucket {
  const { memory, thread, found, scanned, protectedSlots } = table;
  const { ints, bytes, blocks, blockMask } = memory;

  /** Takes note of a slot that another key could be put into. */
  function noteSlot(slot: number, word: number, now: number): void {
    const block = word & blockMask;
    if (block === 0) {
      if (scanned.emptySlot !== 0) return;
      scanned.emptySlot = slot;
      scanned.emptyWord = word;
      return;
    }
    const freshAt = freshAtOf(memory, block);
    if (protectedSlots.includes(slot)) return;
    if (freshAt <= now) {
      scanned.freshSlot = slot;
      scanned.freshWord = word;
    } else if (freshAt < scanned.soonestAt) {
      scanned.soonestSlot = slot;
      scanned.soonestWord = word;
      scanned.soonestAt = freshAt;
    }
  }

  return function scanBucket(low, high, now) {
    count(thread, counter.scans);
    const bucket = bucketOf(memory, low);
    scanned.bucket = bucket;
    awaitIntent(table);
    scanned.emptySlot = scanned.freshSlot = scanned.soonestSlot = 0;
    scanned.soonestAt = Infinity;
    for (let slot = bucket; slot < bucket + SLOTS_PER_BUCKET; slot++) {
      const word = settledWord(thread, slot);
      const block = word & blockMask;
      const start = blocks + block * BLOCK;
      if (block !== 0 && (ints[start]! & ~3) === low && ints[start + 1] === high) {
        bytes[tagAt(slot)] = tagOf(high);
        found.slot = slot;
        found.word = word;
        found.block = block;
        return block;
      }
      noteSlot(slot, word, now);
    }
    return 0;
  };
}

/** Reads the bucket's intent; one of another thread is broken if it stays. */
function awaitIntent(table: Table): void {
  const { memory: { ints }, scanned } = table;
  do scanned.intent = Atomics.load(ints, scanned.bucket + INTENT); while (
    (scanned.intent & ACTIVE) !== 0 && !breakIntent(table)
  );
}

/**
 * Makes sure that the insertion of `intent` does not go on, and takes the intent back, lest it be
 * broken again and again.
 *
 * @returns Whether that intent was still there.
 */
function breakIntent({ memory: { ints }, thread, scanned }: Table): boolean {
  const { bucket, intent } = scanned;
  for (let tries = 0; tries < INTENT_PATIENCE; tries++) {
    if (Atomics.load(ints, bucket + INTENT) !== intent) return false;
  }
  const slot = bucket + (intent & POSITION);
  const word = settledWord(thread, slot);
  if (Atomics.load(ints, bucket + INTENT) !== intent) return false;
  if (Atomics.compareExchange(ints, slot, word, raised(thread, word)) === word) {
    count(thread, counter.takenOver);
  }
  const cleared = ((intent >>> 5) + 1) << 5;
  if (Atomics.compareExchange(ints, bucket + INTENT, intent, cleared) !== intent) return false;
  scanned.intent = cleared;
  return true;
}
