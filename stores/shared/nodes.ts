/*
 * Nodes: pieces of 128 bytes for what does not fit a block. A version of a key's state is made of
 * nodes that are never changed; the next version has copies of those that differ and shares the
 * rest (a path copy: N. Sarnak, R. Tarjan, "Planar point location using persistent search trees",
 * 1986). So what is edited is still swapped in by one word.
 *
 * A thread keeps free nodes to itself and passes what it has too much of to others by the bins: a
 * word each that holds the first node of a chain, or 0. A chain is taken whole by one exchange, so
 * that no order of events can break it. A thread that dies takes the nodes that it keeps with it:
 * at most some 130 of them, 17 KB.
 */

import { BIN_COUNT, BINS, header, type Memory, NODE } from "./layout.ts";

/** Thrown when a state needs a node and there is none; the store makes room and tries again. */
export const OUT_OF_NODES: unique symbol = Symbol("out of nodes");

/** How many free nodes a thread keeps before it passes on half of them. */
const KEPT = 128;
/** How many it takes at once of those never used. */
const BATCH = 16;

/** What the nodes of a call's new version are, and which of the old version they replace. */
export interface Nodes {
  /** A new node, its content left over. */
  make(): number;
  /** A copy of a node, in its place. */
  copy(node: number): number;
  /** Takes note that the new version is without a node of the old one. */
  drop(node: number): void;
  /** The new version holds: lets go of what it is without. */
  commit(): void;
  /** It does not: lets go of what was made for it. */
  abandon(): void;
  /** Lets go of a node at once. */
  free(node: number): void;
  /** Where a node lies, in 32-bit words; any number stands for some node. */
  at(node: number): number;
  /** Passes on all that the thread keeps. */
  release(): void;
}

/** The nodes of one thread. */
export function threadNodes({ ints, floats, nodes, lastNode }: Memory): Nodes {
  const kept = stack();
  const made = stack();
  const dropped = stack();

  function at(node: number): number {
    return nodes + (node >= 0 && node <= lastNode ? node : 0) * NODE;
  }

  function refill(): void {
    const first = Atomics.load(ints, header.nodeCount);
    if (first < lastNode) {
      const start = Atomics.add(ints, header.nodeCount, BATCH) + 1;
      for (let node = start; node < start + BATCH && node <= lastNode; node++) kept.push(node);
      if (kept.size() > 0) return;
    }
    for (let bin = BINS; bin < BINS + BIN_COUNT; bin++) {
      if (ints[bin] === 0) continue;
      let node = Atomics.exchange(ints, bin, 0);
      while (node !== 0) {
        kept.push(node);
        node = ints[at(node)]!;
      }
      if (kept.size() > 0) return;
    }
  }

  /** Puts the last `count` nodes, as a chain, before what some bin holds. */
  function passOn(count: number): void {
    const chain = Array.from({ length: count }, () => kept.pop());
    for (let place = 0; place + 1 < count; place++) ints[at(chain[place]!)] = chain[place + 1]!;
    for (let bin = BINS;; bin = bin + 1 < BINS + BIN_COUNT ? bin + 1 : BINS) {
      ints[at(chain[count - 1]!)] = ints[bin] === 0 ? 0 : Atomics.exchange(ints, bin, 0);
      if (Atomics.compareExchange(ints, bin, 0, chain[0]!) === 0) return;
      // Another thread filled the bin in between: what was taken goes on to the next one.
      const taken = ints[at(chain[count - 1]!)]!;
      if (taken !== 0) appendTo(chain, taken);
      count = chain.length;
    }
  }

  function appendTo(chain: number[], first: number): void {
    for (let node = first; node !== 0; node = ints[at(node)]!) chain.push(node);
  }

  function free(node: number): void {
    kept.push(node);
    if (kept.size() > KEPT) passOn(KEPT / 2);
  }

  function make(): number {
    if (kept.size() === 0) refill();
    if (kept.size() === 0) throw OUT_OF_NODES;
    const node = kept.pop();
    made.push(node);
    return node;
  }

  return {
    make,
    free,
    at,
    copy(node) {
      const copied = make();
      const from = at(node) >> 1;
      const to = at(copied) >> 1;
      // As 64-bit words: no pair of sums or node numbers is a NaN, which would be canonicalized.
      for (let word = 0; word < NODE / 2; word++) floats[to + word] = floats[from + word]!;
      dropped.push(node);
      return copied;
    },
    drop(node) {
      dropped.push(node);
    },
    commit() {
      made.clear();
      while (dropped.size() > 0) free(dropped.pop());
    },
    abandon() {
      dropped.clear();
      while (made.size() > 0) free(made.pop());
    },
    release() {
      if (kept.size() > 0) passOn(kept.size());
    },
  };
}

/** A stack of whole numbers in an array of their own kind: an ordinary one takes twice the time. */
function stack() {
  let items = new Int32Array(512);
  let size = 0;
  return {
    size: () => size,
    clear(): void {
      size = 0;
    },
    push(item: number): void {
      if (size === items.length) {
        const larger = new Int32Array(2 * size);
        larger.set(items);
        items = larger;
      }
      items[size++] = item;
    },
    pop: (): number => items[--size]!,
  };
}
