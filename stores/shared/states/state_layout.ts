/*
 * How the states of an algorithm lie in the store: up to two cells of 64 bits in the block itself,
 * more in a chain of nodes. Windows and logs are kept in forms of their own, of which only what
 * changes is written anew.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import { mostEntries } from "../../../core/algorithms/timeline_algorithm.ts";
import { errorMessage } from "../../../core/options/checks.ts";
import { BLOCK } from "../layout.ts";
import type { Nodes } from "../memory/nodes.ts";
import { kindOfBlock, type StateLayout } from "./block_layout.ts";
import { type CellLayout, cellsOfAll, codecCells, numberCells } from "./cells.ts";
import { chainLayout } from "./chain_layout.ts";
import { MOST_ENTRIES } from "./stored_timeline.ts";
import { totalsCells } from "./totals_cells.ts";
import { treeCells } from "./tree_cells.ts";

/** Most cells of a state: 8 KB. */
const MOST_CELLS = 1_024;
/** Windows of more sub-buckets stand in a segment tree. */
const TREE_FROM = 65;
/** Sums of a tree are over up to twice the window, of 31 bits, and below what would be a NaN. */
const TREE_LIMIT = 2 ** 30 - 2 ** 20;

/**
 * How many cells a state of the algorithm takes.
 *
 * @throws {RangeError} If it fits no block, tree or chain.
 */
export function cellsOfState(algorithm: Algorithm): number {
  const cells = countCells(algorithm);
  if (cells <= MOST_CELLS) return cells;
  throw refusal(`${algorithm.id} must take at most ${MOST_CELLS} words`, cells);
}

/** How the states of an algorithm lie in blocks. */
export function stateLayout(nodes: Nodes, algorithm: Algorithm): StateLayout {
  const cells = cellLayout(nodes, algorithm);
  const kind = kindOfBlock(cells.types);
  if (kind === undefined) return chainLayout(nodes, cells, algorithm.initial);
  const { ints, floats, blocks } = nodes.memory;
  const cellsAt = (block: number) => ((blocks + block * BLOCK) >> 1) + 2;
  return {
    kind,
    isNumber: isNumber(algorithm),
    initial: algorithm.initial,
    load: (block) => cells.load(ints, floats, cellsAt(block)),
    save: (state, block, old) =>
      cells.save(state, ints, floats, cellsAt(block), old === 0 ? -1 : cellsAt(old)),
  };
}

function cellLayout(nodes: Nodes, algorithm: Algorithm): CellLayout {
  const { slots, parts } = algorithm.internals ?? {};
  if (slots !== undefined) {
    return isTree(algorithm)
      ? treeCells(nodes, slots)
      : totalsCells(nodes, mostEntries(slots, algorithm.capacity));
  }
  if (parts !== undefined) {
    return cellsOfAll(algorithm, parts.map((part) => cellLayout(nodes, part)));
  }
  return isNumber(algorithm) ? numberCells : codecCells(algorithm);
}

function countCells(algorithm: Algorithm): number {
  const { internals: { slots, parts } = {}, capacity, codec: { maxWords } } = algorithm;
  if (slots !== undefined) {
    const entries = Math.min(slots, capacity);
    if (entries <= MOST_ENTRIES) return isTree(algorithm) ? 2 : 1;
    const rule = `min(period in ms, limit) of ${algorithm.id} must be at most ${MOST_ENTRIES}` +
      " (slidingWindow with a coarser precision takes less)";
    throw refusal(rule, entries);
  }
  if (parts !== undefined) return parts.reduce((sum, part) => sum + cellsOfState(part), 0);
  return isNumber(algorithm) ? 1 : 1 + maxWords;
}

function isNumber({ initial, codec, internals: { parts, slots } = {} }: Algorithm): boolean {
  return typeof initial === "number" && codec.maxWords === 1 && parts === undefined &&
    slots === undefined;
}

/** Logs, whose sub-buckets are of 1 ms, hold few units in many slots: they are no trees. */
function isTree({ internals: { slots = 0 } = {}, capacity, policies }: Algorithm): boolean {
  const isLog = policies[0]?.period === slots;
  return slots >= TREE_FROM && slots <= MOST_ENTRIES && capacity < TREE_LIMIT && !isLog;
}

function refusal(rule: string, value: number): RangeError {
  return new RangeError(errorMessage("keep states in the shared store", rule, value));
}
