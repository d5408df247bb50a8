/*
 * The words that threads announce while they work on them, so that nobody uses those again.
 *
 * A call works on a word that it has read from a slot, and swaps in another one by a single
 * compare-and-swap. That swap must fail if the slot has changed in between, even if it has changed
 * so often that its version has come round. So a thread announces the word before it looks at the
 * block, and nobody puts a block to use again while a word that names it is announced (M. Michael,
 * "Hazard Pointers", 2004); a word that names no block, or a mark, is not put into a slot again
 * while it is announced. An announcement is a plain store: it is seen by others some nanoseconds
 * later, at the latest when the thread is put to sleep. The version covers those nanoseconds: a
 * word cannot come back before 2^8 changes at the least (2^11 with a million keys).
 *
 * A record has four cells to announce in, used in turn by those who take it over from one another.
 * An owner that wakes in the middle of its first instructions, and finds that another one has taken
 * the record over, has then announced in a cell that is nobody's: it is used again after three more
 * takeovers, each of which waits for milliseconds. Whoever takes a record that was given back goes on
 * with the cell of the owner before, which is in no call.
 */

import { ANNOUNCED, ANNOUNCED_CELLS, header, RECORD, SEEN, SEEN_SIZE } from "../layout.ts";
import type { Thread } from "./thread.ts";

/** Announces the word that the thread works on. */
export function announce({ memory: { ints }, announced }: Thread, word: number): void {
  // A slot never used holds 0, which would say that there is no call; it never comes back.
  ints[announced] = word === 0 ? 1 : word;
}

/** Announces one more word, beside the one that is worked on. */
export function announceMore({ memory: { ints }, record }: Thread, word: number): void {
  const size = ints[record + SEEN_SIZE]!;
  ints[record + SEEN + size] = word;
  Atomics.store(ints, record + SEEN_SIZE, size + 1);
}

/** Announces none but the one that is worked on. */
export function clearMore({ memory: { ints }, record }: Thread): void {
  ints[record + SEEN_SIZE] = 0;
}

/** The blocks that other threads announce. */
export function announcedBlocks(thread: Thread): readonly number[] {
  const { memory: { ints, records, blockMask }, record, pinned } = thread;
  pinned.length = 0;
  for (let other = records, end = endOfRecords(thread); other < end; other += RECORD) {
    if (isSilent(ints, other) || other === record) continue;
    for (let cell = other + ANNOUNCED; cell < other + ANNOUNCED + ANNOUNCED_CELLS; cell++) {
      const word = ints[cell]!;
      if (word !== 0) pinned.push(word & blockMask);
    }
    for (let seen = ints[other + SEEN_SIZE]! - 1; seen >= 0; seen--) {
      pinned.push(ints[other + SEEN + seen]! & blockMask);
    }
  }
  return pinned;
}

/** Whether another thread announces the word. */
export function isAnnounced(thread: Thread, word: number): boolean {
  const { memory: { ints, records }, record } = thread;
  for (let other = records, end = endOfRecords(thread); other < end; other += RECORD) {
    if (isSilent(ints, other) || other === record) continue;
    for (let cell = other + ANNOUNCED; cell < other + ANNOUNCED + ANNOUNCED_CELLS; cell++) {
      if (ints[cell] === word) return true;
    }
    for (let seen = ints[other + SEEN_SIZE]! - 1; seen >= 0; seen--) {
      if (ints[other + SEEN + seen] === word) return true;
    }
  }
  return false;
}

function endOfRecords({ memory: { ints, records, threads } }: Thread): number {
  return records + Math.min(threads, Atomics.load(ints, header.records)) * RECORD;
}

/** Whether a record's thread announces nothing, as most do: it is in no call. */
function isSilent(ints: Int32Array, record: number): boolean {
  const cell = record + ANNOUNCED;
  return (ints[cell]! | ints[cell + 1]! | ints[cell + 2]! | ints[cell + 3]!) === 0;
}
