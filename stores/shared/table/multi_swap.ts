/*
 * Changes several slots at one instant: a compare-and-swap of many words, built from swaps of one.
 *
 *   1. the thread writes into its record, for each slot, the word that it expects and the one that
 *      is to come, and sets its status to undecided
 *   2. it swaps each slot's expected word for a mark that names the record
 *   3. it swaps the status from undecided to committed: the instant at which all slots change
 *   4. it swaps each mark for the word to come; if the batch was aborted, for the expected word
 *
 * Status: number of the batch << 2 | state.
 *
 *   1 undecided   marks may be set; a thread that meets one may abort the batch
 *   2 committed   every mark stands for the word to come
 *   3 aborted     every mark stands for the expected word
 *
 * A thread that meets a mark looks at it for a while, then aborts the batch if that is undecided,
 * and swaps the mark itself. So a batch takes effect as a whole or not at all, and no thread waits
 * for a batch whose thread sleeps or has died. Two batches that want each other's slots cannot lock
 * each other out: one aborts the other, which tries again after a random pause. A record gets its
 * next batch only when no mark of the last one is left.
 *
 * Source: T. Harris, K. Fraser, I. Pratt, "A practical multi-word compare-and-swap operation"
 * (2002). Theirs completes the batch that it meets; this one aborts it.
 */

import { field, RECORD } from "../layout.ts";
import { announce, raised } from "../threads/announcements.ts";
import { count, counter, type Thread } from "../threads/thread.ts";

const UNDECIDED = 1;
const COMMITTED = 2;
const ABORTED = 3;
/** Reads of a mark before its batch is aborted. */
const PATIENCE = 100;

/** One slot of a batch. */
export interface SlotSwap {
  readonly slot: number;
  /** The word that the slot must hold. */
  readonly before: number;
  /** The block to put there; the block of `before` if it must only stay. */
  readonly block: number;
}

/**
 * Changes all slots or none, each once.
 *
 * @returns Whether all of them were changed; if not, another thread was faster somewhere.
 */
export function swapAll(thread: Thread, changes: readonly SlotSwap[]): boolean {
  const { memory: { ints, blockMask, records, firstMark }, record } = thread;
  const mark = firstMark + (record - records) / RECORD;
  // All batches mark slots in the same order, so two of them rarely hold slots that both want.
  const sorted = [...changes].sort((a, b) => a.slot - b.slot);
  const marks = sorted.map(({ before }) => raised(thread, (before & ~blockMask) | mark));
  const open = (((ints[record + field.status]! >>> 2) + 1) << 2) | UNDECIDED;
  sorted.forEach(({ slot, before, block }, index) => {
    const at = record + field.batch + 3 * index;
    const stays = block === (before & blockMask);
    ints[at] = slot;
    ints[at + 1] = before;
    ints[at + 2] = stays ? before : raised(thread, (marks[index]! & ~blockMask) | block);
  });
  ints[record + field.batchSize] = sorted.length;
  Atomics.store(ints, record + field.status, open);

  const marked = sorted.findIndex(({ slot, before }, index) =>
    Atomics.compareExchange(ints, slot, before, marks[index]!) !== before
  );
  const verdict = (open & ~3) | (marked === -1 ? COMMITTED : ABORTED);
  Atomics.compareExchange(ints, record + field.status, open, verdict);
  const isCommitted = (Atomics.load(ints, record + field.status) & 3) === COMMITTED;
  const markedSlots = marked === -1 ? sorted.length : marked;
  for (let index = 0; index < markedSlots; index++) {
    const at = record + field.batch + 3 * index;
    const next = isCommitted ? ints[at + 2]! : ints[at + 1]!;
    Atomics.compareExchange(ints, ints[at]!, marks[index]!, next);
  }
  if (!isCommitted) count(thread, counter.contention);
  return isCommitted;
}

/** Swaps a slot's mark for the word that it stands for, and aborts its batch first if need be. */
export function settleMark(thread: Thread, slot: number, mark: number): void {
  const { ints, records, firstMark, blockMask } = thread.memory;
  for (let tries = 0; tries < PATIENCE; tries++) if (Atomics.load(ints, slot) !== mark) return;
  announce(thread, mark);
  if (Atomics.load(ints, slot) !== mark) return;
  const record = records + ((mark & blockMask) - firstMark) * RECORD;
  let status = Atomics.load(ints, record + field.status);
  // While the slot holds the mark, the record holds its batch.
  if (Atomics.load(ints, slot) !== mark) return;
  if ((status & 3) === UNDECIDED) {
    const aborted = (status & ~3) | ABORTED;
    if (Atomics.compareExchange(ints, record + field.status, status, aborted) === status) {
      count(thread, counter.aborted);
    }
    status = Atomics.load(ints, record + field.status);
  }
  const end = record + field.batch + 3 * ints[record + field.batchSize]!;
  for (let at = record + field.batch; at < end; at += 3) {
    if (ints[at] !== slot) continue;
    const next = (status & 3) === COMMITTED ? ints[at + 2]! : ints[at + 1]!;
    Atomics.compareExchange(ints, slot, mark, next);
    return;
  }
}
