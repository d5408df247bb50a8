/*
 * How the states of an algorithm lie in the store, in cells of 64 bits:
 *
 *   a number                        1 cell
 *   an object that a codec writes   2 cells for up to three words if they fit; otherwise 1 cell for
 *                                   the number of its words, and 1 for each word that it may take
 *   a window or a log               2 cells (`segment_tree.ts`, `running_totals.ts`)
 *   `all`                           the cells of its parts
 *
 * Up to two cells are in the block itself, more are in a chain of nodes. Windows and logs have forms
 * of their own, in which a call writes only the parts that change.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import { mostEntries } from "../../../core/algorithms/timeline_algorithm.ts";
import { errorMessage, LAST_INSTANT } from "../../../core/options/checks.ts";
import { BLOCK } from "../layout.ts";
import { CELLS_PER_NODE, type CellType } from "../allocator/node_shape.ts";
import type { Nodes } from "../allocator/nodes.ts";
import { type CellLayout, CELLS, hasRoot, type StateLayout } from "./block_layout.ts";
import { type ChainLayout, chainLayout } from "./chain_layout.ts";
import { nodesOfTotals, runningTotals } from "./running_totals.ts";
import { nodesOfSums, segmentTree } from "./segment_tree.ts";
import { textLayout } from "./text_layout.ts";
import { MAX_ENTRIES, timelineCells, TORN } from "./stored_timeline.ts";

/** The most cells of a state: 8 KB. */
const MAX_CELLS = 1_024;
/**
 * The sums of a tree cover up to twice the window. They have 31 bits, less than the bit pattern of
 * a NaN.
 */
const TREE_LIMIT = 2 ** 30 - 2 ** 20;

/**
 * The most nodes that a state of the algorithm takes.
 *
 * @throws {RangeError} If it fits neither a block, nor a tree, nor a chain.
 */
export function nodesOfState(algorithm: Algorithm): number {
  const { receipts, wraps } = algorithm.internals ?? {};
  if (receipts !== undefined) return nodesOfState(wraps!.inner);
  const { types, nodes } = sizeOfState(algorithm);
  const cells = types.length;
  if (cells > MAX_CELLS) {
    throw refusal(`${algorithm.id} must take at most ${MAX_CELLS} words`, cells);
  }
  const isInBlock = isPacked(algorithm) ? fitsBlock(algorithm) : kindOfBlock(types) !== undefined;
  return nodes + (isInBlock ? 0 : Math.ceil(cells / CELLS_PER_NODE));
}

/** The layout of an algorithm's states in blocks. */
export function stateLayout(nodes: Nodes, algorithm: Algorithm): StateLayout {
  const { receipts, wraps } = algorithm.internals ?? {};
  if (receipts !== undefined) {
    return textLayout(nodes, algorithm, stateLayout(nodes, wraps!.inner));
  }
  const { ints, floats, blocks } = nodes.memory;
  const { initial, codec, codec: { maxWords } } = algorithm;
  const cells = cellLayout(nodes, algorithm);
  const kind = kindOfBlock(cells.types);
  if (isPacked(algorithm)) return packedLayout(chainLayout(nodes, cells, initial));
  if (kind === undefined) return chainLayout(nodes, cells, initial);
  return {
    isNumber: isNumber(algorithm),
    initial,
    load: (block) => cells.load(ints, floats, cellsAt(block)),
    save(state, block, old) {
      cells.save(state, ints, floats, cellsAt(block), old === 0 ? -1 : cellsAt(old));
      return kind;
    },
  };

  function cellsAt(block: number): number {
    return (blocks + block * BLOCK + CELLS) >> 1;
  }

  /**
   * Stores three words as one word and two of 32 bits. Fewer words are stored unchanged, with a NaN
   * for an absent word.
   */
  function packedLayout(chain: ChainLayout): StateLayout {
    const words = new Float64Array(3);

    function pack(state: unknown, block: number): boolean {
      const count = codec.write(state, words, 0);
      const at = cellsAt(block);
      const [first, second, third] = words as unknown as [number, number, number];
      if (maxWords < 3) {
        floats[at] = count > 0 ? first : NaN;
        floats[at + 1] = count > 1 ? second : NaN;
        return !(count > 0 && first !== first) && !(count > 1 && second !== second);
      }
      floats[at] = first;
      ints[2 * at + 2] = second;
      ints[2 * at + 3] = third;
      return count === 3 && second >>> 0 === second && third >>> 0 === third;
    }

    return {
      isNumber: false,
      initial,
      load(block) {
        if (hasRoot(nodes.memory, block)) return chain.load(block);
        const at = cellsAt(block);
        if (maxWords < 3) {
          const isNone = floats[at] !== floats[at];
          return codec.read(floats, at, isNone ? 0 : floats[at + 1] !== floats[at + 1] ? 1 : 2);
        }
        words[0] = floats[at]!;
        words[1] = ints[2 * at + 2]! >>> 0;
        words[2] = ints[2 * at + 3]! >>> 0;
        return codec.read(words, 0, 3);
      },
      save(state, block, old) {
        const isChain = old !== 0 && hasRoot(nodes.memory, old);
        if (!pack(state, block)) return chain.save(state, block, isChain ? old : 0);
        if (isChain) chain.drop(old);
        return 0;
      },
    };
  }
}

function cellLayout(nodes: Nodes, algorithm: Algorithm): CellLayout {
  const { slots: span, parts } = algorithm.internals ?? {};
  if (span !== undefined) {
    const form = isTree(algorithm)
      ? segmentTree(nodes, span)
      : runningTotals(nodes, mostEntries(span, algorithm.capacity));
    return timelineCells(form, span);
  }
  if (parts !== undefined) {
    return cellsOfAll(algorithm, parts.map((part) => cellLayout(nodes, part)));
  }
  return isNumber(algorithm) ? numberCells : codecCells(algorithm);
}

/** A state that is one number. */
const numberCells: CellLayout = {
  types: [0],
  load: (_ints, floats, at) => floats[at],
  save(state, _ints, floats, at) {
    floats[at] = state as number;
  },
};

/** A state that the algorithm's codec writes as words. */
function codecCells({ codec }: Algorithm): CellLayout {
  return {
    types: new Array(1 + codec.maxWords).fill(0),
    load(_ints, floats, at) {
      const words = floats[at]!;
      if (!(words >= 0 && words <= codec.maxWords)) throw TORN;
      return codec.read(floats, at + 1, words);
    },
    save(state, _ints, floats, at) {
      floats[at] = codec.write(state, floats, at + 1);
    },
  };
}

/** The states of the parts of `all`, one after the other. */
function cellsOfAll(algorithm: Algorithm, parts: readonly CellLayout[]): CellLayout {
  const initial = algorithm.initial as readonly unknown[];
  const starts: number[] = [];
  let cells = 0;
  for (const part of parts) {
    starts.push(cells);
    cells += part.types.length;
  }
  return {
    types: parts.flatMap((part) => part.types),
    load(ints, floats, at) {
      const states = parts.map((part, index) => part.load(ints, floats, at + starts[index]!));
      if (states.includes(undefined)) return undefined;
      return states.every((state, index) => state === initial[index]) ? initial : states;
    },
    save(state, ints, floats, at, old) {
      const states = state as readonly unknown[];
      parts.forEach((part, index) => {
        const start = starts[index]!;
        part.save(states[index], ints, floats, at + start, old === -1 ? -1 : old + start);
      });
    },
  };
}

/** The cells of a state, and the most nodes that they refer to. */
function sizeOfState(
  algorithm: Algorithm,
): { readonly types: readonly CellType[]; readonly nodes: number } {
  const { internals: { slots: span, parts } = {}, capacity, codec: { maxWords } } = algorithm;
  if (span !== undefined) {
    const entries = Math.min(span, capacity);
    if (entries <= MAX_ENTRIES) {
      const most = mostEntries(span, capacity);
      return {
        types: [0, 1],
        nodes: isTree(algorithm) ? nodesOfSums(span, most) : nodesOfTotals(most),
      };
    }
    const rule = `min(period in ms, limit) of ${algorithm.id} must be at most ${MAX_ENTRIES}` +
      " (slidingWindow with a coarser precision takes less)";
    throw refusal(rule, entries);
  }
  if (parts === undefined) {
    return { types: new Array(isNumber(algorithm) ? 1 : 1 + maxWords).fill(0), nodes: 0 };
  }
  const sizes = parts.map(sizeOfState);
  return {
    types: sizes.flatMap(({ types }) => types),
    nodes: sizes.reduce((sum, { nodes }) => sum + nodes, 0),
  };
}

/**
 * Whether cells of these types refer to a root from a block; `undefined` if they must be in a
 * chain.
 */
function kindOfBlock([first, second = 0, ...more]: readonly CellType[]): CellType | undefined {
  return first === 0 && more.length === 0 ? second : undefined;
}

/**
 * Whether words fit in a block. Two do. Three do if the last two have 32 bits in the largest state.
 */
function fitsBlock({ initial, charge, codec }: Algorithm): boolean {
  if (codec.maxWords < 3) return true;
  const words = new Float64Array(3);
  codec.write(charge(initial, LAST_INSTANT, Number.MAX_SAFE_INTEGER)[1], words, 0);
  return words.subarray(1).every((word) => word >>> 0 === word);
}

/** Whether states are words, which stay in the block as long as they fit. */
function isPacked(algorithm: Algorithm): boolean {
  const { internals: { parts, slots: span } = {}, codec: { maxWords } } = algorithm;
  return parts === undefined && span === undefined && !isNumber(algorithm) && maxWords <= 3;
}

function isNumber({ initial, codec, internals: { parts, slots: span } = {} }: Algorithm): boolean {
  return typeof initial === "number" && codec.maxWords === 1 && parts === undefined &&
    span === undefined;
}

/** Whether a window takes no more nodes as a tree than as running totals. */
function isTree({ internals: { slots: span = 0 } = {}, capacity }: Algorithm): boolean {
  const most = mostEntries(span, capacity);
  return span <= MAX_ENTRIES && capacity < TREE_LIMIT &&
    nodesOfSums(span, most) <= nodesOfTotals(most);
}

function refusal(rule: string, value: number): RangeError {
  return new RangeError(errorMessage("keep states in the shared store", rule, value));
}
