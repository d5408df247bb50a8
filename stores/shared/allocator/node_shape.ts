/*
 * The shape of the nodes below a node. With it, a thread that releases a state can release all its
 * nodes, and need not know its algorithm.
 *
 *   shape                  children
 *   tree of L levels       words 16 to 31, each a tree of L - 1 levels
 *   root of a wide tree    words 16 to 31, each a wide tree of L - 1 levels
 *   rest of a wide tree    all 32 words, each a wide tree of L - 1 levels
 *   chain                  word 0, the chain that follows; a tree in each of 15 cells
 *
 * A tree of 0 levels has no children.
 */

import { NODE } from "../layout.ts";

/** The shape of a node: a tree of at most 3 levels, wide or not, a root or not; or a chain. */
export type NodeShape = number;

/** The type of a cell: a number, or the name of a root. */
export type CellType = 0 | 1;

/** Cells of 64 bits in a node of a chain, behind the next node and the types of the cells. */
export const CELLS_PER_NODE = 15;

/** A node without children. */
export const SINGLE: NodeShape = 0;
/** Flags of a tree, beside its levels. */
export const WIDE = 4;
export const ROOT = 8;
/** A chain of nodes with cells. */
export const CHAIN: NodeShape = 16;

/** Calls `visit` with the children of the node at `at`, and with their shapes. */
export function childrenOf(
  ints: Int32Array,
  at: number,
  shape: NodeShape,
  visit: (node: number, shape: NodeShape) => void,
): void {
  if (shape === CHAIN) {
    if (ints[at] !== 0) visit(ints[at]!, CHAIN);
    for (let cell = 0; cell < CELLS_PER_NODE; cell++) {
      if (((ints[at + 1]! >>> cell) & 1) !== 0) rootIn(ints, at + 2 + 2 * cell, visit);
    }
  } else if ((shape & 3) > 0) {
    const first = (shape & (WIDE | ROOT)) === WIDE ? 0 : NODE / 2;
    for (let word = at + first; word < at + NODE; word++) {
      if (ints[word] !== 0) visit(ints[word]!, (shape & ~ROOT) - 1);
    }
  }
}

/**
 * Calls `visit` with the root that a cell names, if it names one: its second word begins with the
 * shape.
 */
export function rootIn(
  ints: Int32Array,
  cell: number,
  visit: (node: number, shape: NodeShape) => void,
): void {
  const shape = ints[cell + 1]! & 7;
  if (ints[cell] !== 0) visit(ints[cell]!, shape === 0 ? CHAIN : shape | ROOT);
}
