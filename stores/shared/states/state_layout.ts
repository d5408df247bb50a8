/*
 * How the states of an algorithm lie in the store, in cells of 64 bits:
 *
 *   a number                        1 cell
 *   a number or two words           1 cell, or 2
 *   an object that a codec writes   2 cells for up to three words if they fit; otherwise 1 cell for
 *                                   the number of its words, and 1 for each word that it may take
 *   a window or a log               2 cells (`segment_tree.ts`, `running_totals.ts`)
 *   `all`                           the cells of its parts
 *   what a combinator adds          text (`text_layout.ts`)
 *
 * Up to two cells are in the block itself, more are in a chain of nodes. Windows and logs have forms
 * of their own, in which a call writes only the parts that change.
 *
 * Limiters with one id and different limits read each other's states, so nothing that is read depends
 * on a limit.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import { mostEntries } from "../../../core/algorithms/timeline_algorithm.ts";
import { errorMessage, LAST_INSTANT } from "../../../core/options/checks.ts";
import type { Timeline } from "../../../core/timeline/timeline.ts";
import { BLOCK } from "../layout.ts";
import { CELLS_PER_NODE, type CellType } from "../allocator/node_shape.ts";
import type { Nodes } from "../allocator/nodes.ts";
import { type CellLayout, CELLS, hasRoot, kindOf, type StateLayout } from "./block_layout.ts";
import { type ChainLayout, chainLayout } from "./chain_layout.ts";
import { nodesOfTotals, runningTotals } from "./running_totals.ts";
import { MOST_UNITS, nodesOfSums, segmentTree } from "./segment_tree.ts";
import { textLayout, UNITS_PER_NODE } from "./text_layout.ts";
import {
  bucketsFrom,
  MAX_ENTRIES,
  timelineCells,
  type TimelineForm,
  TORN,
} from "./stored_timeline.ts";

/** The most cells of a state: 8 KB. */
const MAX_CELLS = 1_024;
/** Letters of text for a word, about. */
const LETTERS = 17;

/**
 * The most nodes that a state of the algorithm takes.
 *
 * @throws {RangeError} If it fits neither a block, nor a tree, nor a chain.
 */
export function nodesOfState(algorithm: Algorithm): number {
  const { wraps } = algorithm.internals ?? {};
  if (wraps !== undefined) return nodesOfState(wraps.inner);
  if (isVast(algorithm)) {
    const words = 1 + mostWords(algorithm);
    if (words <= MAX_CELLS) return Math.ceil(LETTERS * words / UNITS_PER_NODE);
    throw refusal(`${algorithm.id} must take at most ${MAX_CELLS} words`, words);
  }
  const { types, nodes } = sizeOfState(algorithm);
  const cells = types.length;
  if (isUse(algorithm)) return 0;
  const isInBlock = isPacked(algorithm)
    ? fitsBlock(algorithm)
    : kindOfBlock(types) !== undefined || areFewNumbers(algorithm);
  return nodes + (isInBlock ? 0 : Math.ceil(cells / CELLS_PER_NODE));
}

/** The layout of an algorithm's states in blocks. */
export function stateLayout(nodes: Nodes, algorithm: Algorithm): StateLayout {
  const { wraps, parts } = algorithm.internals ?? {};
  if (wraps !== undefined) return textLayout(nodes, algorithm, stateLayout(nodes, wraps.inner));
  if (isVast(algorithm)) return textLayout(nodes, algorithm, undefined);
  if (isUse(algorithm)) return useLayout(nodes, algorithm);
  const { ints, floats, blocks } = nodes.memory;
  const { initial, codec, codec: { maxWords } } = algorithm;
  const cells = cellLayout(nodes, algorithm, false);
  const kind = kindOfBlock(cells.types);
  if (isPacked(algorithm)) return packedLayout(chainLayout(nodes, cells, initial));
  if (kind === undefined) {
    const chain = chainLayout(nodes, cells, initial);
    const numbers = parts && cellLayout(nodes, algorithm, true);
    const isShort = numbers !== undefined && kindOfBlock(numbers.types) === 0;
    return isShort ? shortLayout(numbers, chain) : chain;
  }
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

  /** Keeps the parts of an `all` in the block while each of them is a number. */
  function shortLayout(numbers: CellLayout, chain: ChainLayout): StateLayout {
    return {
      isNumber: false,
      initial,
      load: (block) =>
        hasRoot(nodes.memory, block)
          ? chain.load(block)
          : numbers.load(ints, floats, cellsAt(block)),
      save(state, block, old) {
        const isChain = old !== 0 && hasRoot(nodes.memory, old);
        if (!isNumbers(state)) return chain.save(state, block, isChain ? old : 0);
        numbers.save(state, ints, floats, cellsAt(block), -1);
        if (isChain) chain.drop(old);
        return 0;
      },
    };
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

/** The states of windows: a number, or the two words of the codec. */
function useLayout({ memory }: Nodes, { initial, codec, capacity, step }: Algorithm): StateLayout {
  const { floats, blocks } = memory;
  const cellsAt = (block: number) => (blocks + block * BLOCK + CELLS) >> 1;
  return {
    // Calls with this limit mostly leave such states as a full key has.
    isNumber: typeof step(initial, 0, capacity)[1] === "number",
    initial,
    load: (block) =>
      kindOf(memory, block) === 2 ? codec.read(floats, cellsAt(block), 2) : floats[cellsAt(block)],
    save(state, block) {
      if (typeof state !== "number") {
        codec.write(state, floats, cellsAt(block));
        return 2;
      }
      floats[cellsAt(block)] = state;
      return 0;
    },
  };
}

/** @param short Whether windows take one cell each, for states that are numbers. */
function cellLayout(nodes: Nodes, algorithm: Algorithm, short: boolean): CellLayout {
  const { slots: span, parts } = algorithm.internals ?? {};
  if (span !== undefined) {
    const forms = timelineForms(nodes, span, algorithm);
    const entries = mostEntries(span, algorithm.capacity);
    return timelineCells({ forms, entries, units: mostUnits(algorithm) }, span);
  }
  if (parts !== undefined) {
    return cellsOfAll(algorithm, parts.map((part) => cellLayout(nodes, part, short)));
  }
  if (isUse(algorithm)) return short ? numberCells : useCells(algorithm);
  return isNumber(algorithm) ? numberCells : codecCells(algorithm);
}

/** The forms that a window's timelines may have; first the one for the algorithm's limit. */
function timelineForms(
  nodes: Nodes,
  span: number,
  algorithm: Algorithm,
): readonly [TimelineForm, ...TimelineForm[]] {
  const totals: TimelineForm[] = [];
  for (let entries = 1; (totals.at(-1)?.mostEntries ?? 0) < Math.min(span, MOST_TOTALS);) {
    const form = runningTotals(nodes, entries);
    totals.push(form);
    entries = form.mostEntries + 1;
  }
  const sums = span <= MAX_ENTRIES ? [segmentTree(nodes, span)] : [];
  const most = mostEntries(span, algorithm.capacity);
  const own = isTree(algorithm) ? sums[0]! : totals.find((form) => most <= form.mostEntries)!;
  return [own, ...totals, ...sums];
}

/** The most buckets that hold units under any limit. */
const MOST_TOTALS = mostEntries(Infinity, MAX_ENTRIES);

/** A state of a window, among the cells of others: its second word is `NaN` for a number. */
function useCells({ codec }: Algorithm): CellLayout {
  return {
    types: [0, 0],
    load(_ints, floats, at) {
      const isOne = floats[at + 1] !== floats[at + 1];
      return isOne ? floats[at] : codec.read(floats, at, 2);
    },
    save(state, _ints, floats, at) {
      floats[at + 1] = NaN;
      if (typeof state === "number") floats[at] = state;
      else codec.write(state, floats, at);
    },
  };
}

/** Whether an `all` has at most two parts whose states are numbers, in the deepest debt too. */
function areFewNumbers({ initial, charge, internals }: Algorithm): boolean {
  if (internals?.parts === undefined) return false;
  const [, owing] = charge(initial, 0, Number.MAX_SAFE_INTEGER);
  return isNumbers(owing) && (owing as readonly unknown[]).flat(Infinity).length <= 2;
}

/** Whether all parts of a state of `all` are numbers. */
function isNumbers(state: unknown): boolean {
  return Array.isArray(state) ? state.every(isNumbers) : typeof state === "number";
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
    const cells = isNumber(algorithm) ? 1 : isUse(algorithm) ? 2 : 1 + maxWords;
    return { types: new Array(cells).fill(0), nodes: 0 };
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

/** Whether the states of a combination have so many words that all of them are kept as text. */
function isVast(algorithm: Algorithm): boolean {
  return cellsOf(algorithm) > MAX_CELLS;
}

function cellsOf({ internals, codec }: Algorithm): number {
  const { slots, parts } = internals ?? {};
  if (slots !== undefined) return 2;
  return parts === undefined
    ? 1 + codec.maxWords
    : parts.reduce((cells, part) => cells + cellsOf(part), 0);
}

/** The most words of states that calls with the algorithm's own limits make. */
function mostWords({ internals, codec, capacity }: Algorithm): number {
  const { wraps, slots, parts } = internals ?? {};
  if (wraps !== undefined) return 2 + mostWords(wraps.inner);
  if (slots !== undefined) return 2 * mostEntries(slots, capacity);
  return parts === undefined
    ? codec.maxWords
    : parts.reduce((words, part) => words + mostWords(part), 0);
}

/** Whether states are words, which stay in the block as long as they fit. */
function isPacked(algorithm: Algorithm): boolean {
  const { internals: { parts, slots: span } = {}, codec: { maxWords } } = algorithm;
  return parts === undefined && span === undefined && maxWords <= 3 &&
    !isNumber(algorithm) && !isUse(algorithm);
}

function isNumber({ initial, codec, internals: { parts, slots: span } = {} }: Algorithm): boolean {
  return typeof initial === "number" && codec.maxWords === 1 && parts === undefined &&
    span === undefined;
}

/** Whether states are numbers, or two words where one number has no room. */
function isUse({ initial, codec, internals }: Algorithm): boolean {
  return typeof initial === "number" && codec.maxWords === 2 && internals?.halves !== undefined &&
    internals.parts === undefined && internals.slots === undefined;
}

/** The units in the timeline of a full key. Where a cost is scaled, they are not the capacity. */
function mostUnits({ initial, capacity, step }: Algorithm): number {
  const [, full] = step(initial, 0, capacity);
  const [, units = 0] = bucketsFrom(full as Timeline, 0);
  return units;
}

/** Whether a window takes no more nodes as a tree than as running totals. */
function isTree(algorithm: Algorithm): boolean {
  const { internals: { slots: span = 0 } = {}, capacity } = algorithm;
  const most = mostEntries(span, capacity);
  return span <= MAX_ENTRIES && mostUnits(algorithm) < MOST_UNITS &&
    nodesOfSums(span, most) <= nodesOfTotals(most);
}

function refusal(rule: string, value: number): RangeError {
  return new RangeError(errorMessage("keep states in the shared store", rule, value));
}
