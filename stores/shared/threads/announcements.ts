/*
 * The words that threads announce while they work on them, so that no other thread reuses them.
 *
 * A call works on a word that it has read from a slot, and swaps in another word by a single
 * compare-and-swap. That swap must fail if the slot has changed in between, even if it has changed so
 * often that its version has come round. So a thread announces the word, and then checks that the
 * slot still holds it. No thread reuses a block while a word that names it is announced (M. Michael,
 * "Hazard Pointers", 2004). No thread puts an announced word without a block, or with a mark, into a
 * slot again. The announcement and the check are atomic. So either the check sees a change, or the
 * thread that made the change sees the announcement.
 */

import { field, header, type Memory, RECORD } from "../layout.ts";
import type { Thread } from "./thread.ts";

/** Announces the word that the thread works on, in place of the last one. The record is locked. */
export function announce({ memory: { ints }, record }: Thread, word: number): void {
  // A slot that was never used holds 0, which would unlock the record. A used slot never holds 0
  // again.
  Atomics.store(ints, record + field.announced, word === 0 ? 1 : word);
}

/** Announces one more word, in addition to the current one. */
export function announceMore({ memory: { ints }, record }: Thread, word: number): void {
  const size = ints[record + field.seenSize]!;
  ints[record + field.seen + size] = word;
  Atomics.store(ints, record + field.seenSize, size + 1);
}

/** Withdraws the last of these further words. */
export function clearLast({ memory: { ints }, record }: Thread): void {
  Atomics.store(ints, record + field.seenSize, ints[record + field.seenSize]! - 1);
}

/** Withdraws all further words; the current one stays announced. */
export function clearMore({ memory: { ints }, record }: Thread): void {
  Atomics.store(ints, record + field.seenSize, 0);
}

/** The blocks that other threads announce. */
export function announcedBlocks(thread: Thread): readonly number[] {
  const { memory: { blockMask }, pinned } = thread;
  pinned.length = 0;
  someAnnounced(thread, (word) => {
    pinned.push(word & blockMask);
    return false;
  });
  return pinned;
}

/** The word after `word`, with the version after its own. */
export function nextWord({ blockMask }: Memory, word: number): number {
  return (word + blockMask + 1) | 0;
}

/** The first word after `word` that names the same block and that no other thread announces. */
export function raised(thread: Thread, word: number): number {
  let next = nextWord(thread.memory, word);
  const isNext = (announced: number) => announced === next;
  while (next === 0 || someAnnounced(thread, isNext)) next = nextWord(thread.memory, next);
  return next;
}

/** Whether a word that another thread announces meets a condition. */
function someAnnounced(
  { memory: { ints, records, threads }, record }: Thread,
  meets: (word: number) => boolean,
): boolean {
  const end = records + Math.min(threads, Atomics.load(ints, header.records)) * RECORD;
  for (let other = records; other < end; other += RECORD) {
    if (other === record) continue;
    const word = Atomics.load(ints, other + field.announced);
    // A thread that is not in a call announces nothing.
    if (word === 0) continue;
    if (meets(word)) return true;
    for (let seen = Atomics.load(ints, other + field.seenSize) - 1; seen >= 0; seen--) {
      if (meets(ints[other + field.seen + seen]!)) return true;
    }
  }
  return false;
}
