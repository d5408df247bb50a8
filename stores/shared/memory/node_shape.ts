/*
 * What stands below a node, so that whoever lets go of a state can let go of all its nodes without
 * knowing its algorithm.
 *
 *   shape                 children
 *   single                none
 *   tree of L levels      words 16 to 31, each a tree of L - 1 levels
 *   totals                words 16 to 31, each a branch of as many levels as its word 10 says
 *   branch of L levels    all 32 words, each a branch of L - 1 levels
 *   chain                 word 0, the chain that follows; a tree or totals in each of 15 cells
 *
 * A tree of 0 levels and a branch of 1 level are single: their words are no nodes.
 */

import { NODE } from "../layout.ts";

/** What a node is. */
export type NodeShape = number;

/** What a cell of a chain names: nothing, a tree (with its levels), running totals. */
export type CellType = 0 | 1 | 2;

/** Cells of 64 bits in a node of a chain, behind the next node and the types of the cells. */
export const CELLS_PER_NODE = 15;

/** Where the root of running totals has its levels. */
export const TOTALS_LEVELS = 10;

const TREE = 1 << 2;
const BRANCH = 2 << 2;

/** A node without children. */
export const SINGLE: NodeShape = 0;
/** The root of running totals. */
export const TOTALS: NodeShape = 3 << 2;
/** A chain of nodes with cells. */
export const CHAIN: NodeShape = 4 << 2;

/** The root of a tree, or of a part of one, above so many levels. */
export function treeOf(levels: number): NodeShape {
  return levels === 0 ? SINGLE : TREE | levels;
}

/** A child of that root, of so many levels. */
export function branchOf(levels: number): NodeShape {
  return levels === 1 ? SINGLE : BRANCH | levels;
}

/** Calls `visit` with the children of a node that lies at `at`, and what they are. */
export function childrenOf(
  ints: Int32Array,
  at: number,
  shape: NodeShape,
  visit: (node: number, shape: NodeShape) => void,
): void {
  const levels = shape & 3;
  const kind = shape & ~3;
  if (kind === TREE) each(NODE / 2, treeOf(levels - 1));
  else if (kind === TOTALS) each(NODE / 2, branchOf(ints[at + TOTALS_LEVELS]!));
  else if (kind === BRANCH) each(0, branchOf(levels - 1));
  else if (kind === CHAIN) {
    if (ints[at] !== 0) visit(ints[at]!, CHAIN);
    for (let cell = 0; cell < CELLS_PER_NODE; cell++) {
      rootIn(ints, at + 2 + 2 * cell, ((ints[at + 1]! >>> (2 * cell)) & 3) as CellType, visit);
    }
  }

  function each(first: number, shape: NodeShape): void {
    for (let word = at + first; word < at + NODE; word++) {
      if (ints[word] !== 0) visit(ints[word]!, shape);
    }
  }
}

/** Calls `visit` with what a cell names. */
export function rootIn(
  ints: Int32Array,
  cell: number,
  type: CellType,
  visit: (node: number, shape: NodeShape) => void,
): void {
  const root = ints[cell]!;
  if (root === 0 || type === 0) return;
  visit(root, type === 1 ? treeOf(ints[cell + 1]! & 3) : TOTALS);
}
