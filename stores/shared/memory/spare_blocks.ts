/*
 * The blocks that a thread writes into, in a ring:
 *
 *   [head, vetted)   free to use: no announcement named them when they had rested
 *   [vetted, tail)   given up by this thread, in order; looked through 32 at a time
 *
 * A swap spends one block and gives one up, so a ring mostly keeps its length, some 64. What a
 * thread removes makes it longer; beyond 96 the last go to the pool, from which those take whose
 * rings are empty. A block of the pool is looked at by its taker before it is used. So a thread
 * never holds more than 96 and what a batch has taken, and none is ever lost but with a thread that
 * dies in the middle of a call.
 *
 * The counts run on, modulo 2^32: only their differences tell anything.
 */

import { ContentionError } from "../../../core/errors.ts";
import {
  BLOCK,
  FRESH_AT,
  HEAD,
  header,
  type Memory,
  RING,
  RING_SIZE,
  TAIL,
  VETTED,
} from "../layout.ts";
import { MOST_OF_CHAIN, openPool } from "./pool.ts";

const RING_MASK = RING_SIZE - 1;
/** Blocks that rest before they are looked at. */
const REST = 32;
/** Most blocks in a ring at the end of a call. */
const MOST_HELD = 96;
/** How often a thread out of spare blocks looks again. */
const PATIENCE = 1_000_000;

/** The spare blocks of a thread. */
export interface SpareBlocks {
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
}

/**
 * The spare blocks in a thread's record.
 *
 * @param announced The blocks that other threads announce.
 */
export function spareBlocks(
  memory: Memory,
  record: number,
  announced: () => readonly number[],
): SpareBlocks {
  const { ints, blocks, lastBlock } = memory;
  // Links stand where a block says when it is fresh, which is a hint until the slot is looked at
  // again. Whose the block is must stay: it may be announced yet, and is read without a second look.
  const pool = openPool(memory, header.blockPool, blocks + FRESH_AT, BLOCK);
  const ring = record + RING;
  const head = record + HEAD;
  const vetted = record + VETTED;
  const tail = record + TAIL;
  const placeOf = (count: number) => ring + (count & RING_MASK);

  function push(block: number): void {
    ints[placeOf(ints[tail]!)] = block;
    ints[tail]!++;
  }

  /** Sets free what nobody announces of the blocks given up, all but the last `rest`. */
  function vet(rest: number): void {
    const pinned = announced();
    const count = ((ints[tail]! - ints[vetted]!) | 0) - rest;
    const start = ints[vetted]!;
    for (let offset = 0; offset < count; offset++) {
      const place = placeOf(start + offset);
      const block = ints[place]!;
      if (pinned.length > 0 && pinned.includes(block)) continue;
      const free = placeOf(ints[vetted]!);
      ints[place] = ints[free]!;
      ints[free] = block;
      ints[vetted]!++;
    }
  }

  /** Sees to it that there is a free block. */
  function refill(): void {
    const resting = () => (ints[tail]! - ints[vetted]!) | 0;
    if (resting() >= 2 * REST) vet(REST);
    for (let tries = 0; ints[head] === ints[vetted]; tries++) {
      if (tries > PATIENCE) {
        throw new ContentionError("Cannot decide as all spare blocks of the store are in use");
      }
      passOn();
      for (const block of pool.take()) push(block);
      if (resting() >= 2 * REST) vet(REST);
      if (ints[head] === ints[vetted]) takeNew();
      if (ints[head] === ints[vetted]) vet(0);
    }
  }

  /** Takes a block that was never used. */
  function takeNew(): void {
    if (Atomics.load(ints, header.blockCount) >= lastBlock) return;
    const block = Atomics.add(ints, header.blockCount, 1) + 1;
    if (block > lastBlock) return void Atomics.sub(ints, header.blockCount, 1);
    ints[placeOf(ints[head]! - 1)] = block;
    ints[head]!--;
  }

  /** Puts blocks into the pool if there are more than a thread should hold. */
  function passOn(): void {
    if (((ints[tail]! - ints[head]!) | 0) <= MOST_HELD) return;
    // From the end: the first one may be written to already.
    ints[tail]! -= MOST_OF_CHAIN;
    if (((ints[tail]! - ints[vetted]!) | 0) < 0) ints[vetted] = ints[tail]!;
    const end = ints[tail]!;
    pool.put(Array.from({ length: MOST_OF_CHAIN }, (_, place) => ints[placeOf(end + place)]!));
  }

  function spare(): number {
    if (ints[head] === ints[vetted]) refill();
    return ints[placeOf(ints[head]!)]!;
  }

  return {
    spare,
    swapped(block) {
      push(block);
      ints[head]!++;
    },
    spent() {
      ints[head]!++;
    },
    take() {
      const block = spare();
      ints[head]!++;
      return block;
    },
    add(block) {
      push(block);
      passOn();
    },
  };
}
