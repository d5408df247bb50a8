/*
 * A thread's place in the store: what it announces, and the spare blocks that it writes into.
 *
 * A call works on a word that it has read from a slot, and swaps in another one by a single
 * compare-and-swap. That swap must fail if the slot has changed in between, even if it has changed
 * so often that its version has come round. So a thread announces the word before it looks at the
 * block, and nobody puts a block to use again while a word that names it is announced (M. Michael,
 * "Hazard Pointers", 2004); a word that names no block, or a mark, is not put into a slot again
 * while it is announced. An announcement is a plain store: it is seen by others some nanoseconds
 * later, at the latest when the thread is put to sleep. The version covers those nanoseconds: a
 * word cannot come back before 2^8 changes at the least (2^11 with a million keys), and a block
 * rests for 32 calls of its finder before it is looked at.
 *
 * The spare blocks stand in a ring:
 *
 *   [head, vetted)   free to use: no announcement named them when they had rested
 *   [vetted, tail)   given up by this thread, in order; looked through 32 at a time
 *
 * A thread that dies between calls leaves its record whole: whoever attaches when all records are
 * in use raises the generation of an idle one, waits until that can be seen, and goes on with its
 * blocks. If its owner was only asleep, it finds the generation changed at its next call, after it
 * has announced in a word of its own generation, and attaches anew. A thread that dies in the middle of a call leaves a record that never becomes
 * idle, and nobody touches it again: that costs one record and its spares, 5 KB.
 */

import { complaint } from "../../core/check.ts";
import { ContentionError, StoreFullError } from "../../core/errors.ts";
import {
  ANNOUNCED,
  ANNOUNCED_CELLS,
  CALLS,
  COUNTERS,
  GENERATION,
  HEAD,
  header,
  type Memory,
  OWNED,
  RECORD,
  RING,
  RING_SIZE,
  SEEN,
  SEEN_SIZE,
  TAIL,
  VETTED,
} from "./layout.ts";

/** What a thread counts; others may read it at any time. */
export const counter = {
  contention: 0,
  inserted: 1,
  evicted: 2,
  dropped: 3,
  scans: 4,
  takenOver: 5,
  aborted: 6,
} as const;

const RING_MASK = RING_SIZE - 1;

/** Blocks that rest before they are looked at. */
const REST = 32;
/** Milliseconds after which every thread sees a generation that was raised. */
const GRACE = 3;
/** Milliseconds in which a living thread is expected to make a call. */
const QUIET = 60;
/** How often a thread out of spare blocks looks again. */
const PATIENCE = 1_000_000;

/** A thread's record, and what it does with it. */
export interface Thread {
  /** Where the record lies. */
  readonly record: number;
  /** The generation under which the record is this thread's. */
  readonly generation: number;
  /** Where this thread announces. */
  readonly announced: number;
  /** The block to write into; the same one until it is spent. */
  spare(): number;
  /** Puts a block that was swapped out in the place of the spare one. */
  swapped(block: number): void;
  /** Takes the spare one as spent, with nothing in return. */
  spent(): void;
  /** Takes the spare one for good; `add` gives it back, or what came in its place. */
  take(): number;
  /** Adds a block to those given up. */
  add(block: number): void;
  /** Whether another thread announces the word, or one that names the block. */
  isAnnounced(word: number): boolean;
  /** Announces one more word, beside the one that is worked on. */
  announceAlso(word: number): void;
  /** Announces none but the one that is worked on. */
  announceOne(): void;
  count(what: number): void;
  /** Gives the record back. */
  release(): void;
}

/**
 * Attaches the calling thread.
 *
 * @throws {StoreFullError} If all records belong to threads that are in the middle of calls.
 */
export function attachThread(memory: Memory): Thread {
  const { ints, records, threads, lastBlock, blockMask, capacity } = memory;
  const record = claimRecord(memory);
  const generation = ints[record + GENERATION]!;
  const ring = record + RING;
  const pinned: number[] = [];

  /** The blocks that other threads announce. */
  function collect(): void {
    pinned.length = 0;
    const end = records + Math.min(threads, Atomics.load(ints, header.records)) * RECORD;
    for (let other = records; other < end; other += RECORD) {
      if (other === record) continue;
      for (let cell = other + ANNOUNCED; cell < other + ANNOUNCED + ANNOUNCED_CELLS; cell++) {
        const word = ints[cell]!;
        if (word !== 0) pinned.push(word & blockMask);
      }
      for (let seen = ints[other + SEEN_SIZE]! - 1; seen >= 0; seen--) {
        pinned.push(ints[other + SEEN + seen]! & blockMask);
      }
    }
  }

  /** Looks through the blocks given up, all but the last `rest`; keeps back those announced. */
  function vet(rest: number): void {
    const start = ints[record + VETTED]!;
    const end = ints[record + TAIL]! - rest;
    if (end <= start) return;
    collect();
    let free = end;
    let tail = ints[record + TAIL]!;
    for (let place = end - 1; place >= start; place--) {
      const block = ints[ring + (place & RING_MASK)]!;
      if (pinned.length > 0 && pinned.includes(block)) ints[ring + (tail++ & RING_MASK)] = block;
      else ints[ring + (--free & RING_MASK)] = block;
    }
    ints[record + TAIL] = tail;
    ints[record + HEAD] = free;
    ints[record + VETTED] = end;
  }

  function refill(): void {
    if (ints[record + TAIL]! - ints[record + VETTED]! >= 2 * REST) vet(REST);
    for (let tries = 0; ints[record + HEAD] === ints[record + VETTED]; tries++) {
      const block = capacity + 1 + Atomics.add(ints, header.spareBlocks, 1);
      if (block <= lastBlock) {
        const head = ints[record + HEAD]! - 1;
        ints[ring + (head & RING_MASK)] = block;
        ints[record + HEAD] = head;
        return;
      }
      Atomics.sub(ints, header.spareBlocks, 1);
      vet(0);
      if (tries > PATIENCE) {
        throw new ContentionError("Cannot decide as all spare blocks of the store are in use");
      }
    }
  }

  function spare(): number {
    if (ints[record + HEAD] === ints[record + VETTED]) refill();
    return ints[ring + (ints[record + HEAD]! & RING_MASK)]!;
  }

  return {
    record,
    generation,
    announced: announcedAt(record, generation),
    spare,
    take() {
      const block = spare();
      ints[record + HEAD]!++;
      return block;
    },
    swapped(block) {
      const head = ints[record + HEAD]!;
      const tail = ints[record + TAIL]!;
      ints[ring + (tail & RING_MASK)] = block;
      ints[record + TAIL] = tail + 1;
      ints[record + HEAD] = head + 1;
    },
    spent() {
      ints[record + HEAD]!++;
    },
    add(block) {
      const tail = ints[record + TAIL]!;
      ints[ring + (tail & RING_MASK)] = block;
      ints[record + TAIL] = tail + 1;
    },
    isAnnounced(word) {
      const end = records + Math.min(threads, Atomics.load(ints, header.records)) * RECORD;
      for (let other = records; other < end; other += RECORD) {
        if (other === record) continue;
        for (let cell = other + ANNOUNCED; cell < other + ANNOUNCED + ANNOUNCED_CELLS; cell++) {
          if (Atomics.load(ints, cell) === word) return true;
        }
        for (let seen = ints[other + SEEN_SIZE]! - 1; seen >= 0; seen--) {
          if (ints[other + SEEN + seen] === word) return true;
        }
      }
      return false;
    },
    announceAlso(word) {
      const size = ints[record + SEEN_SIZE]!;
      ints[record + SEEN + size] = word;
      Atomics.store(ints, record + SEEN_SIZE, size + 1);
    },
    announceOne() {
      ints[record + SEEN_SIZE] = 0;
    },
    count(what) {
      ints[record + COUNTERS + what]!++;
    },
    release() {
      if (ints[record + GENERATION] === generation) Atomics.store(ints, record + OWNED, 2);
    },
  };
}

/** A record of the thread's own: one given back, one never used, or that of an idle thread. */
function claimRecord(memory: Memory): number {
  const { ints, records, threads } = memory;
  const used = Math.min(threads, Atomics.load(ints, header.records));
  for (let place = 0; place < used; place++) {
    const record = records + place * RECORD;
    if (Atomics.compareExchange(ints, record + OWNED, 2, 1) === 2) return renewed(memory, record);
  }
  const next = Atomics.add(ints, header.records, 1);
  if (next < threads) {
    const record = records + next * RECORD;
    ints[record + HEAD] = RING_SIZE;
    ints[record + VETTED] = RING_SIZE;
    ints[record + TAIL] = RING_SIZE;
    return renewed(memory, record);
  }
  Atomics.sub(ints, header.records, 1);
  const idle = claimIdle(memory);
  if (idle !== 0) return idle;
  const rule = "fewer threads than its option threads must be attached or have died in mid-call";
  throw new StoreFullError(complaint("attach to the shared store", rule, threads));
}

function renewed({ ints }: Memory, record: number): number {
  Atomics.add(ints, record + GENERATION, 1);
  ints[record + SEEN_SIZE] = 0;
  Atomics.store(ints, record + OWNED, 1);
  return record;
}

function announcedAt(record: number, generation: number): number {
  return record + ANNOUNCED + (generation & (ANNOUNCED_CELLS - 1));
}

/** The record of a thread that makes no call for a while; 0 if every one does. */
function claimIdle({ ints, records, threads }: Memory): number {
  const calls = Array.from({ length: threads }, (_, place) => callsOf(place));
  pause(QUIET);
  for (const [place, before] of calls.entries()) {
    const record = records + place * RECORD;
    if (!isIdle(record) || callsOf(place) !== before) continue;
    const generation = Atomics.load(ints, record + GENERATION);
    const raised = (generation + 1) | 0;
    const at = record + GENERATION;
    if (Atomics.compareExchange(ints, at, generation, raised) !== generation) continue;
    pause(GRACE);
    if (!isIdle(record) || callsOf(place) !== before) continue;
    if (Atomics.load(ints, at) !== raised) continue;
    Atomics.store(ints, record + OWNED, 1);
    ints[record + COUNTERS + counter.takenOver]!++;
    return record;
  }
  return 0;

  function isIdle(record: number): boolean {
    for (let cell = 0; cell < ANNOUNCED_CELLS; cell++) {
      if (Atomics.load(ints, record + ANNOUNCED + cell) !== 0) return false;
    }
    return true;
  }

  function callsOf(place: number): number {
    return Atomics.load(ints, records + place * RECORD + CALLS);
  }
}

function pause(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

/** What the threads have counted, all together. */
export function total({ ints, records, threads }: Memory, what: number): number {
  const used = Math.min(threads, Atomics.load(ints, header.records));
  let sum = 0;
  for (let place = 0; place < used; place++) {
    sum += ints[records + place * RECORD + COUNTERS + what]! >>> 0;
  }
  return sum;
}
