/*
 * Spare blocks or nodes that one thread has too many of and another needs: a stack of chains.
 *
 *   head of the pool     changes made so far | the first item of the chain on top, or 0
 *   item, word 0         the next item of its chain, or 0
 *   first item, word 1   the first item of the chain below, or 0
 *
 * A chain is put and taken by one compare-and-swap of the head's 64 bits, so a thread may stop at
 * any step. The count makes each head unlike all others: if another thread takes a chain meanwhile,
 * the swap fails, and the words read of that chain are thrown away.
 *
 * Source: R. K. Treiber, "Systems programming: coping with parallelism" (1986).
 */

import { BLOCK, FRESH_AT, header, type Memory, NODE } from "../layout.ts";

/** Where the items of a pool lie. */
export interface Pool {
  readonly memory: Memory;
  /** Its head, in 64-bit words. */
  readonly head: number;
  /** Where item 0 has its links, and how many words further the next one has. */
  readonly start: number;
  readonly size: number;
}

/** Most items of a chain. */
export const MAX_CHAIN_ITEMS = 16;

/**
 * The pool of blocks. A link takes the place of a block's fresh instant, which is a hint until the
 * slot is looked at again. The fingerprint must stay: the block may still be announced, and its
 * fingerprint is read without a second look.
 */
export function poolOfBlocks(memory: Memory): Pool {
  return { memory, head: header.blockPool / 2, start: memory.blocks + FRESH_AT, size: BLOCK };
}

/** The pool of nodes. */
export function poolOfNodes(memory: Memory): Pool {
  return { memory, head: header.nodePool / 2, start: memory.nodes, size: NODE };
}

/** Puts at most 16 items into the pool. */
export function putChain(pool: Pool, items: readonly number[]): void {
  const { memory: { ints, bigs }, head } = pool;
  const first = items[0];
  if (first === undefined) return;
  items.forEach((item, index) => ints[linksOf(pool, item)] = items[index + 1] ?? 0);
  for (;;) {
    const state = Atomics.load(bigs, head);
    ints[linksOf(pool, first) + 1] = firstOf(state);
    if (Atomics.compareExchange(bigs, head, state, changed(state, first)) === state) return;
  }
}

/** Takes some items out of the pool; an empty list if the pool is empty. */
export function takeChain(pool: Pool): readonly number[] {
  const { memory: { ints, bigs }, head } = pool;
  const items: number[] = [];
  for (;;) {
    const state = Atomics.load(bigs, head);
    const first = firstOf(state);
    if (first === 0) return items;
    const below = ints[linksOf(pool, first) + 1]! >>> 0;
    if (Atomics.compareExchange(bigs, head, state, changed(state, below)) !== state) continue;
    for (let item = first; item !== 0 && items.length < MAX_CHAIN_ITEMS;) {
      items.push(item);
      item = ints[linksOf(pool, item)]!;
    }
    return items;
  }
}

function linksOf({ start, size }: Pool, item: number): number {
  return start + item * size;
}

function firstOf(state: bigint): number {
  return Number(BigInt.asUintN(32, state));
}

/** The head after a change that puts another chain on top. */
function changed(state: bigint, first: number): bigint {
  return BigInt.asIntN(64, (((state >> 32n) + 1n) << 32n) | BigInt(first));
}
