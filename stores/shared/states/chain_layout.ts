/*
 * States of more cells than fit in a block. They lie in a chain of nodes, 15 cells to a node, after a
 * word that says which cells name other nodes. A thread copies them to an array of its own, and back.
 */

import { BLOCK, NODE } from "../layout.ts";
import { CELLS_PER_NODE, SINGLE } from "../allocator/node_shape.ts";
import type { Nodes } from "../allocator/nodes.ts";
import { type CellLayout, ROOT_CELL, type StateLayout } from "./block_layout.ts";

/** The layout of states in chains. */
export interface ChainLayout extends StateLayout {
  /** Notes that a block's chain is dropped, but not the nodes that its cells name. */
  drop(block: number): void;
}

/** The layout of states of these cells in chains. */
export function chainLayout(nodes: Nodes, cells: CellLayout, initial: unknown): ChainLayout {
  const { ints, blocks } = nodes.memory;
  const types = typesOfNodes(cells);
  const { length } = types;
  // The cells of the new state, then those of the old one.
  const scratch = new Float64Array(2 * length * CELLS_PER_NODE);
  const scratchInts = new Int32Array(scratch.buffer);
  const oldStart = length * CELLS_PER_NODE;
  const hasNodes = types.some((type) => type !== 0);
  const firstAt = (block: number) => blocks + block * BLOCK + ROOT_CELL;

  /** Copies the cells of a block to the array. */
  function read(block: number, start: number): void {
    let node = ints[firstAt(block)]!;
    for (let index = 0; index < length; index++) {
      const at = nodes.at(node);
      const to = 2 * (start + index * CELLS_PER_NODE);
      for (let word = 0; word < 2 * CELLS_PER_NODE; word++) {
        scratchInts[to + word] = ints[at + 2 + word]!;
      }
      node = ints[at]!;
    }
  }

  function drop(block: number): void {
    let node = ints[firstAt(block)]!;
    for (let index = 0; index < length; index++) {
      nodes.drop(node, SINGLE);
      node = ints[nodes.at(node)]!;
    }
  }

  /** Makes a chain of the cells in the array, and returns its first node. */
  function write(): number {
    let next = 0;
    for (let index = length - 1; index >= 0; index--) {
      const node = nodes.make();
      const at = nodes.at(node);
      const from = 2 * index * CELLS_PER_NODE;
      ints[at] = next;
      ints[at + 1] = types[index]!;
      for (let word = 0; word < NODE - 2; word++) ints[at + 2 + word] = scratchInts[from + word]!;
      next = node;
    }
    return next;
  }

  return {
    isNumber: false,
    initial,
    drop,
    load(block) {
      read(block, 0);
      return cells.load(scratchInts, scratch, 0);
    },
    save(state, block, old) {
      if (old !== 0) {
        if (hasNodes) read(old, oldStart);
        drop(old);
      }
      cells.save(state, scratchInts, scratch, 0, old === 0 ? -1 : oldStart);
      ints[firstAt(block)] = write();
      ints[firstAt(block) + 1] = 0;
      return 1;
    },
  };
}

/** For each node of a chain, the word that says which of its cells name roots. */
function typesOfNodes({ types }: CellLayout): readonly number[] {
  return Array.from({ length: Math.ceil(types.length / CELLS_PER_NODE) }, (_, node) => {
    const own = types.slice(node * CELLS_PER_NODE, (node + 1) * CELLS_PER_NODE);
    return own.reduce((sum: number, type, cell) => sum | (type << cell), 0);
  });
}
