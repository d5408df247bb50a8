/*
 * A key and its state in a block: two words of fingerprint, when the key is fresh again, and two
 * cells. What the cells stand for says the low two bits of the fingerprint's low half, so that any
 * thread can let go of the nodes of a state without knowing its algorithm.
 */

import { BLOCK, type Memory } from "../layout.ts";
import { type CellType, CHAIN, type NodeShape, treeIn } from "../memory/node_shape.ts";
import type { Nodes } from "../memory/nodes.ts";

/** Numbers; a number and a tree; a chain of cells. */
export const blockKind = { cells: 0, tree: 1, chain: 2 } as const;

/** Where the cells of a block begin, in 32-bit words. */
export const CELLS = 4;

/** How states lie in cells, of a block or of an array that a chain is copied to. */
export interface CellLayout {
  readonly types: readonly CellType[];
  load(ints: Int32Array, floats: Float64Array, at: number): unknown;
  /** Writes a state; `old` is where the replaced one lies in the same arrays, -1 if there is none. */
  save(state: unknown, ints: Int32Array, floats: Float64Array, at: number, old: number): void;
}

/** How one algorithm's states lie in blocks. */
export interface StateLayout {
  /** Whether the states are one number each, in the first cell. */
  readonly isNumber: boolean;
  /** What `load` reads of a key without use: the fresh state of the first algorithm of its id. */
  readonly initial: unknown;
  /** Reads the state of a block; `undefined` if its words are none. */
  load(block: number): unknown;
  /**
   * Writes a state into a block; `old` is the block that it replaces, 0 if there is none.
   *
   * @returns What the block holds: one of `blockKind`.
   */
  save(state: unknown, block: number, old: number): number;
}

/** Calls `visit` with the topmost nodes of a block's state. */
export function visitNodes(
  { ints, blocks }: Memory,
  block: number,
  visit: (node: number, shape: NodeShape) => void,
): void {
  const at = blocks + block * BLOCK;
  const kind = ints[at]! & 3;
  if (kind === blockKind.tree) treeIn(ints, at + CELLS + 2, visit);
  else if (kind === blockKind.chain && ints[at + CELLS] !== 0) visit(ints[at + CELLS]!, CHAIN);
}

/**
 * Notes whose key's state has the topmost node of a block, for whoever needs nodes. One that the state
 * before had is known; whoever writes that may lose the race, and the node be another key's by then.
 *
 * @param low The low half of the key's fingerprint.
 * @param old The block that it is to replace; 0 if there is none.
 */
export function noteHolder(
  { ints, blocks, holders }: Memory,
  block: number,
  kind: number,
  low: number,
  old: number,
): void {
  if (kind === blockKind.cells) return;
  const cell = CELLS + (kind === blockKind.tree ? 2 : 0);
  const node = ints[blocks + block * BLOCK + cell]!;
  const before = blocks + old * BLOCK;
  if (old !== 0 && (ints[before]! & 3) === kind && ints[before + cell] === node) return;
  ints[holders + node] = low | 1;
}

/** Lets go of all nodes of a state that nobody else can reach. */
export function freeState(nodes: Nodes, block: number): void {
  visitNodes(nodes.memory, block, nodes.free);
}

/**
 * Writes the key of a fingerprint and its state into a block.
 *
 * @param freshAt When the key is fresh again.
 * @param old The block that it is to replace; 0 if there is none.
 */
export function writeBlock(
  memory: Memory,
  layout: StateLayout,
  block: number,
  low: number,
  high: number,
  state: unknown,
  freshAt: number,
  old: number,
): void {
  const { ints, floats, blocks } = memory;
  const at = blocks + block * BLOCK;
  const kind = layout.save(state, block, old);
  noteHolder(memory, block, kind, low, old);
  ints[at] = low | kind;
  ints[at + 1] = high;
  floats[at / 2 + 1] = freshAt;
}
