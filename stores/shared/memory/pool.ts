/*
 * What threads have too much of, blocks or nodes, for those who have too little: a stack of chains.
 *
 *   head of the pool     changes made so far | the first item of the chain on top, or 0
 *   item, word 0         the next item of its chain, or 0
 *   first item, word 1   the first item of the chain below, or 0
 *
 * A chain is put and taken by one compare-and-swap of the head's 64 bits, so a thread may stop at
 * any step. The count makes each head unlike all others: what is read of a chain that somebody else
 * takes meanwhile comes to nothing.
 *
 * Source: R. K. Treiber, "Systems programming: coping with parallelism" (1986).
 */

import type { Memory } from "../layout.ts";

/** A pool as one thread works on it. */
export interface Pool {
  /** Puts at most 16 items into it. */
  put(items: readonly number[]): void;
  /** Takes some items out of it; none if there are none. */
  take(): readonly number[];
}

/** Most items of a chain. */
export const MOST_OF_CHAIN = 16;

/**
 * The pool of which the header keeps the head.
 *
 * @param head Where the head lies in the header.
 * @param start Where item 0 lies.
 * @param size Words of an item.
 */
export function openPool({ ints, bigs }: Memory, head: number, start: number, size: number): Pool {
  const headAt = head / 2;
  const at = (item: number) => start + item * size;
  const firstOf = (state: bigint) => Number(BigInt.asUintN(32, state));
  const next = (state: bigint, first: number) => (((state >> 32n) + 1n) << 32n) | BigInt(first);

  return {
    put(items) {
      const first = items[0];
      if (first === undefined) return;
      items.forEach((item, place) => ints[at(item)] = items[place + 1] ?? 0);
      for (;;) {
        const state = Atomics.load(bigs, headAt);
        ints[at(first) + 1] = firstOf(state);
        const changed = BigInt.asIntN(64, next(state, first));
        if (Atomics.compareExchange(bigs, headAt, state, changed) === state) return;
      }
    },
    take() {
      const items: number[] = [];
      for (;;) {
        const state = Atomics.load(bigs, headAt);
        const first = firstOf(state);
        if (first === 0) return items;
        const changed = BigInt.asIntN(64, next(state, ints[at(first) + 1]! >>> 0));
        if (Atomics.compareExchange(bigs, headAt, state, changed) !== state) continue;
        for (let item = first; item !== 0 && items.length < MOST_OF_CHAIN; item = ints[at(item)]!) {
          items.push(item);
        }
        return items;
      }
    },
  };
}
