/*
 * A key and its state in a block: two words of fingerprint, the instant at which the key is fresh
 * again, and two cells. The second cell may name a root. The low bits of the fingerprint, which are 0
 * in the fingerprint itself, say whether it does. So any thread can release the nodes of a state
 * without knowing its algorithm.
 */

import { BLOCK, type Memory } from "../layout.ts";
import { type CellType, type NodeShape, rootIn } from "../allocator/node_shape.ts";
import type { Nodes } from "../allocator/nodes.ts";

/**
 * The kind of a block's second cell, in the low bits of its fingerprint: 1 if it names a root, 3 if
 * that is the text of the state. 2 sets a state of two words apart from a number.
 */
export type BlockKind = 0 | 1 | 2 | 3;

/** Where the cells of a block begin, in 32-bit words. */
export const CELLS = 4;
/** Where the second cell begins. */
export const ROOT_CELL: number = CELLS + 2;

/**
 * The layout of states in cells. The cells are in a block, or in an array to which a chain is copied.
 */
export interface CellLayout {
  readonly types: readonly CellType[];
  load(ints: Int32Array, floats: Float64Array, at: number): unknown;
  /**
   * Writes a state. `old` is the place of the replaced state in the same arrays, or -1 for a new key.
   */
  save(state: unknown, ints: Int32Array, floats: Float64Array, at: number, old: number): void;
}

/** The layout of one algorithm's states in blocks. */
export interface StateLayout {
  /** Whether the states are numbers in the first cell, except for rare states of another kind. */
  readonly isNumber: boolean;
  /**
   * The state that `load` reads for a key without use: the fresh state of the first algorithm of
   * its id.
   */
  readonly initial: unknown;
  /** Reads the state of a block; `undefined` if its words are not a state. */
  load(block: number): unknown;
  /**
   * Writes a state into a block; `old` is the block that it replaces, 0 for a new key.
   *
   * @returns The kind of its second cell.
   */
  save(state: unknown, block: number, old: number): BlockKind;
}

/** Whether the second cell of a block names a root. */
export function hasRoot({ ints, blocks }: Memory, block: number): boolean {
  return (ints[blocks + block * BLOCK]! & 1) !== 0;
}

/** The kind of a block's second cell. */
export function kindOf({ ints, blocks }: Memory, block: number): BlockKind {
  return (ints[blocks + block * BLOCK]! & 3) as BlockKind;
}

/** Calls `visit` with the topmost node of a block's state, if it has one. */
export function visitNodes(
  memory: Memory,
  block: number,
  visit: (node: number, shape: NodeShape) => void,
): void {
  if (hasRoot(memory, block)) rootIn(memory.ints, memory.blocks + block * BLOCK + ROOT_CELL, visit);
}

/**
 * Notes the key of a state's topmost node, so that a search for nodes finds the key. If the old state
 * had the same node, its key is noted already. It must not be written again, because this thread may
 * lose the race, and the node may then belong to another key.
 *
 * @param low The low half of the key's fingerprint.
 * @param old The block that this block replaces; 0 for a new key.
 */
export function noteHolder(memory: Memory, block: number, low: number, old: number): void {
  const { ints, blocks, holders } = memory;
  const node = ints[blocks + block * BLOCK + ROOT_CELL]!;
  const before = ints[blocks + old * BLOCK + ROOT_CELL];
  if (old !== 0 && before === node && hasRoot(memory, old)) return;
  ints[holders + node] = low | 1;
}

/** Releases all nodes of a state that nobody else can reach. */
export function freeState(nodes: Nodes, block: number): void {
  visitNodes(nodes.memory, block, nodes.free);
}

/**
 * Writes the key of a fingerprint and its state into a block.
 *
 * @param freshAt The instant at which the key is fresh again.
 * @param old The block that this block replaces; 0 for a new key.
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
  if ((kind & 1) !== 0) noteHolder(memory, block, low, old);
  ints[at] = low | kind;
  ints[at + 1] = high;
  floats[at / 2 + 1] = freshAt;
}
