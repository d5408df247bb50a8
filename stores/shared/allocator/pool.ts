/*
 * Spare blocks or nodes that one thread has too many of and another needs: a stack of chains.
 *
 *   head of the pool     changes made so far | the first item of the chain on top, or 0
 *   item, word 0         the next item of its chain, or 0
 *   first item, word 1   the first item of the chain below, or 0
 *
 * One compare-and-swap of the head's 64 bits puts or takes a chain, so a thread may stop at any step.
 * The count makes each head differ from all others. So if another thread takes a chain meanwhile, the
 * swap fails, and this thread discards the words that it has read of that chain.
 *
 * Source: R. K. Treiber, "Systems programming: coping with parallelism" (1986).
 */

import { BLOCK, FRESH_AT, header, type Memory, NODE } from "../layout.ts";

/** The places of a pool's head and items. */
export interface Pool {
  readonly memory: Memory;
  /** Its head, in 64-bit words. */
  readonly head: number;
  /** The place of the links of item 0, and the words from one item's links to the next. */
  readonly start: number;
  readonly size: number;
}

/** The most items of a chain. */
export const MAX_CHAIN_ITEMS = 16;

/**
 * The pool of blocks. A link replaces a block's fresh instant, which is only a hint: a thread that
 * reads it checks the slot afterwards. The fingerprint must stay, because the block may still be
 * announced, and threads read its fingerprint without such a check.
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
