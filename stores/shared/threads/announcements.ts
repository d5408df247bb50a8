/*
 * The words that threads announce while they work on them, so that nobody uses those again.
 *
 * A call works on a word that it has read from a slot, and swaps in another one by a single
 * compare-and-swap. That swap must fail if the slot has changed in between, even if it has changed
 * so often that its version has come round. So a thread announces the word, and then checks whether
 * it still stands in the slot. Nobody reuses a block while a word that names it is announced (M.
 * Michael, "Hazard Pointers", 2004). A word that names no block, or a mark, is not put into a slot
 * again while it is announced. Either the thread's check comes after the change, or the other
 * thread reads the announcements after this one was made: both are atomic.
 */

import { field, header, type Memory, RECORD } from "../layout.ts";
import type { Thread } from "./thread.ts";

/** Announces the word that the thread works on, in place of the one before; its record is locked. */
export function announce({ memory: { ints }, record }: Thread, word: number): void {
  // A slot never used holds 0, which would unlock the record; it never comes back.
  Atomics.store(ints, record + field.announced, word === 0 ? 1 : word);
}

/** Announces one more word, in addition to the current one. */
export function announceMore({ memory: { ints }, record }: Thread, word: number): void {
  const size = ints[record + field.seenSize]!;
  ints[record + field.seen + size] = word;
  Atomics.store(ints, record + field.seenSize, size + 1);
}

/** Announces the last one of these no longer. */
export function clearLast({ memory: { ints }, record }: Thread): void {
  Atomics.store(ints, record + field.seenSize, ints[record + field.seenSize]! - 1);
}

/** Leaves only the word that is worked on announced. */
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

/** The first word after `word` that names the same block and that nobody announces. */
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
    // A thread in no call announces nothing.
    if (word === 0) continue;
    if (meets(word)) return true;
    for (let seen = Atomics.load(ints, other + field.seenSize) - 1; seen >= 0; seen--) {
      if (meets(ints[other + field.seen + seen]!)) return true;
    }
  }
  return false;
}
