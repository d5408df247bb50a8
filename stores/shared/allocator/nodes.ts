/*
 * Nodes: pieces of 128 bytes for states that do not fit a block. A version of a key's state is made
 * of nodes that never change. The next version has copies of the nodes that differ, and shares the
 * rest (a path copy: N. Sarnak, R. Tarjan, "Planar point location using persistent search trees",
 * 1986). So one word still swaps an edit in.
 *
 * After the swap, nobody else can reach the old version, and the thread releases the nodes that only
 * that version has. Until then it notes only the tops of those subtrees.
 *
 * A thread keeps some free nodes in its record, at most 96 and at most a 64th of the arena, and puts
 * the rest into a pool. A thread that dies between calls loses no nodes, because another one takes
 * its record over. A thread that dies in the middle of a call loses the nodes of its record, and
 * those that the call was making or releasing.
 */

import { field, header, type Memory, NODE } from "../layout.ts";
import { counter, type Thread } from "../threads/thread.ts";
import { childrenOf, type NodeShape, SINGLE } from "./node_shape.ts";
import { MAX_CHAIN_ITEMS, poolOfNodes, putChain, takeChain } from "./pool.ts";

/** Thrown when a state needs a node and no node is left; the store makes room and tries again. */
export const OUT_OF_NODES: unique symbol = Symbol("out of nodes");

/** The most free nodes that a thread keeps, and the part of the arena that they may be: a 64th. */
const MAX_KEPT = 96;
const SHARE = 64;
/**
 * The most nodes that a call makes beyond the nodes of the old state, unless that state is as large.
 */
const MAX_MADE = 128;
/** Bits of a node's number; the bits above them are its shape. */
const NODE_BITS = 24;
const NODE_MASK = 2 ** NODE_BITS - 1;

/** The nodes that an arena must have for one key whose state takes that many. */
export function nodesForOne(nodes: number): number {
  return nodes + Math.min(nodes, MAX_MADE);
}

/**
 * The nodes that an arena must have for that many keys, each with a state of at most `nodes` nodes,
 * and for one more state that a call builds anew.
 */
export function nodesForAll(keys: number, nodes: number, threads: number): number {
  if (nodes === 0) return 0;
  return (keys + 1) * nodes + threads * (MAX_KEPT + MAX_CHAIN_ITEMS + Math.min(nodes, MAX_MADE));
}

/** The nodes of a call's new version, and the nodes of the old version that they replace. */
export interface Nodes {
  readonly memory: Memory;
  /** Where a node lies, in 32-bit words; any number stands for some node. */
  at(node: number): number;
  /** A new node, with arbitrary contents. */
  make(): number;
  /** A new node of zeros. */
  makeEmpty(): number;
  /** A copy of a node, which replaces that node in the new version. */
  copy(node: number): number;
  /** Whether a node is one of the last eight that were made for the new version. */
  isNew(node: number): boolean;
  /** Notes that the new version does not have a node of the old one, nor any node below it. */
  drop(node: number, shape: NodeShape): void;
  /** Keeps the new version: releases the nodes that only the old version has. */
  commit(): void;
  /** Drops the new version: releases the nodes that were made for it. */
  abandon(): void;
  /** Leaves all nodes as they are, because nobody knows which version the slot holds. */
  forget(): void;
  /** Releases a node that nobody else can reach, and all nodes below it, at once. */
  free(node: number, shape: NodeShape): void;
}

/**
 * The nodes of a thread. The functions are closed over the views, because each call of a window
 * reads and writes dozens of words of nodes: an engine then knows where those words lie.
 */
export function threadNodes(memory: Memory, thread: Thread): Nodes {
  const { ints, floats, holders, nodes, lastNode } = memory;
  const { take, keep } = freeNodes(memory, thread);
  // Nodes with their shapes: nodes that were made, nodes to release, and nodes below these.
  const made = intStack();
  const dropped = intStack();
  const below = intStack();

  const at = (node: number) => nodes + (node >= 0 && node <= lastNode ? node : 0) * NODE;
  const note = (node: number, shape: NodeShape) => void below.push(node | (shape << NODE_BITS));

  function free(node: number, shape: NodeShape): void {
    if (shape === SINGLE) return keep(node);
    note(node, shape);
    while (below.size() > 0) {
      const noted = below.pop();
      const one = noted & NODE_MASK;
      childrenOf(ints, at(one), noted >>> NODE_BITS, note);
      keep(one);
    }
  }

  function make(): number {
    const node = take();
    ints[holders + node] = 0;
    made.push(node);
    return node;
  }

  return {
    memory,
    at,
    make,
    free,
    makeEmpty() {
      const node = make();
      const start = at(node);
      for (let word = start; word < start + NODE; word++) ints[word] = 0;
      return node;
    },
    copy(node) {
      const copied = make();
      const from = at(node) >> 1;
      const to = at(copied) >> 1;
      // Copy 64-bit words: no pair of sums or node numbers is a NaN, which an engine may change.
      for (let word = 0; word < NODE / 2; word++) floats[to + word] = floats[from + word]!;
      dropped.push(node);
      return copied;
    },
    isNew: (node) => made.has(node, 8),
    drop(node, shape) {
      dropped.push(node | (shape << NODE_BITS));
    },
    commit() {
      made.clear();
      while (dropped.size() > 0) {
        const noted = dropped.pop();
        free(noted & NODE_MASK, noted >>> NODE_BITS);
      }
    },
    abandon() {
      dropped.clear();
      while (made.size() > 0) keep(made.pop());
    },
    forget() {
      made.clear();
      dropped.clear();
      below.clear();
    },
  };
}

/** The free nodes in a thread's record: takes a node, and gives one back. */
function freeNodes(memory: Memory, thread: Thread) {
  const { ints, lastNode } = memory;
  const pool = poolOfNodes(memory);
  const mostKept = Math.min(MAX_KEPT, Math.floor(lastNode / SHARE));
  const chain = Math.max(1, Math.min(MAX_CHAIN_ITEMS, mostKept >> 1));

  function put(node: number): void {
    const { record } = thread;
    const size = ints[record + field.keptSize]!;
    ints[record + field.kept + size] = node;
    ints[record + field.keptSize] = size + 1;
  }

  function takeKept(): number {
    const { record } = thread;
    const size = ints[record + field.keptSize]! - 1;
    ints[record + field.keptSize] = size;
    return ints[record + field.kept + size]!;
  }

  function refill(): void {
    for (const node of takeChain(pool)) put(node);
    if (ints[thread.record + field.keptSize]! > 0) return;
    if (Atomics.load(ints, header.nodeCount) >= lastNode) return;
    const first = Atomics.add(ints, header.nodeCount, chain) + 1;
    const end = Math.min(first + chain, lastNode + 1);
    for (let node = first; node < end; node++) put(node);
  }

  return {
    take(): number {
      if (ints[thread.record + field.keptSize] === 0) refill();
      if (ints[thread.record + field.keptSize] === 0) throw OUT_OF_NODES;
      ints[thread.record + field.counters + counter.nodes]!++;
      return takeKept();
    },
    keep(node: number): void {
      ints[thread.record + field.counters + counter.nodes]!--;
      put(node);
      if (ints[thread.record + field.keptSize]! <= mostKept) return;
      putChain(pool, Array.from({ length: chain }, takeKept));
    },
  };
}

/** A stack of whole numbers in a typed array: an ordinary array takes twice the time. */
function intStack() {
  let items = new Int32Array(512);
  let size = 0;
  return {
    size: () => size,
    /** Whether an item is among the last ones. */
    has(item: number, last: number): boolean {
      for (let index = size - 1; index >= 0 && index >= size - last; index--) {
        if (items[index] === item) return true;
      }
      return false;
    },
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
