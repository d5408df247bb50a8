/*
 * A thread's place in the store: what it announces, and what it has spare.
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

import {
  ANNOUNCED,
  ANNOUNCED_CELLS,
  COUNTERS,
  header,
  type Memory,
  OWNER,
  RECORD,
  SEEN,
  SEEN_SIZE,
} from "../layout.ts";
import { announcedAt, claimRecord, releaseRecord } from "./thread_record.ts";
import { type SpareBlocks, spareBlocks } from "../memory/spare_blocks.ts";

/** The calling thread, as those see it that change something for it. */
export interface ThreadSlot {
  readonly thread: Thread;
  /**
   * Whether a slot may have been swapped whose blocks and nodes are not yet accounted for. If the
   * call ends there (the stack overflows, a time limit of `node:vm` is reached), the record is given
   * up, as that of a thread that dies.
   */
  isChanging: boolean;
}

/** A thread's record, and what it does with it. */
export interface Thread extends SpareBlocks {
  /** Where the record lies. */
  readonly record: number;
  /** The owner's word under which the record is this thread's. */
  readonly owner: number;
  /** Where this thread announces. */
  readonly announced: number;
  /** Whether another thread announces the word. */
  isAnnounced(word: number): boolean;
  /** Announces one more word, beside the one that is worked on. */
  announceMore(word: number): void;
  /** Announces none but the one that is worked on. */
  clearMore(): void;
  count(what: number): void;
  /** Gives the record back, cleared of a call that was cut short. */
  release(): void;
}

/**
 * Attaches the calling thread.
 *
 * @param isAgain Whether it has lost its record.
 * @throws {StoreFullError} If all records belong to threads that make calls, or died in one.
 */
export function attachThread(memory: Memory, isAgain: boolean): Thread {
  const { ints, records, threads, blockMask } = memory;
  const claim = claimRecord(memory, isAgain);
  const { record, owner } = claim;
  const announced = announcedAt(claim);
  const pinned: number[] = [];

  const endOfRecords = () =>
    records + Math.min(threads, Atomics.load(ints, header.records)) * RECORD;

  /** Whether a record's thread announces nothing, as most do: it is in no call. */
  function isSilent(other: number): boolean {
    const cell = other + ANNOUNCED;
    return (ints[cell]! | ints[cell + 1]! | ints[cell + 2]! | ints[cell + 3]!) === 0;
  }

  /** The blocks that other threads announce. */
  function announcedBlocks(): readonly number[] {
    pinned.length = 0;
    for (let other = records, end = endOfRecords(); other < end; other += RECORD) {
      if (isSilent(other) || other === record) continue;
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

  function isAnnounced(word: number): boolean {
    for (let other = records, end = endOfRecords(); other < end; other += RECORD) {
      if (isSilent(other) || other === record) continue;
      for (let cell = other + ANNOUNCED; cell < other + ANNOUNCED + ANNOUNCED_CELLS; cell++) {
        if (ints[cell] === word) return true;
      }
      for (let seen = ints[other + SEEN_SIZE]! - 1; seen >= 0; seen--) {
        if (ints[other + SEEN + seen] === word) return true;
      }
    }
    return false;
  }

  return {
    ...spareBlocks(memory, record, announcedBlocks),
    record,
    owner,
    announced,
    isAnnounced,
    announceMore(word) {
      const size = ints[record + SEEN_SIZE]!;
      ints[record + SEEN + size] = word;
      Atomics.store(ints, record + SEEN_SIZE, size + 1);
    },
    clearMore() {
      ints[record + SEEN_SIZE] = 0;
    },
    count(what) {
      ints[record + COUNTERS + what]!++;
    },
    release() {
      if (ints[record + OWNER] === owner && ints[announced] !== 0) {
        ints[record + SEEN_SIZE] = 0;
        ints[announced] = 0;
      }
      releaseRecord(memory, claim);
    },
  };
}
