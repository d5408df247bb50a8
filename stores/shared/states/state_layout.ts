/*
 * How the states of an algorithm lie in the store: as cells of 64 bits.
 *
 *   a number                        1 cell
 *   an object that a codec writes   1 cell for how many words it took, and as many as it may take
 *   a window in a segment tree      2 cells: its newest slot; its root, and its floor and levels
 *   a log as a counted sequence     1 cell: its root
 *   `all`                           the cells of its parts
 *
 * Up to two cells stand in the block itself; more stand in a chain of nodes, 15 to a node, behind
 * a word that says which cells name other nodes. So any thread can take a key's state apart to
 * free its nodes, without knowing the algorithm.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import { errorMessage } from "../../../core/options/checks.ts";
import { EMPTY_TIMELINE } from "../../../core/timeline/counted_timeline.ts";
import type { Timeline } from "../../../core/timeline/timeline.ts";
import {
  buildTotals,
  editTotals,
  loadTotals,
  rootOfTotals,
  totalsShape,
} from "./running_totals.ts";
import { type Memory, NODE } from "../layout.ts";
import {
  CELLS_PER_NODE,
  type CellType,
  CHAIN,
  type NodeShape,
  rootIn,
  SEQUENCE,
  SINGLE,
  treeOf,
} from "../memory/node_shape.ts";
import type { Nodes } from "../memory/nodes.ts";
import {
  buildTree,
  editTree,
  loadTree,
  rootOfTree,
  type TreeRoot,
  treeShape,
} from "./segment_tree.ts";
import {
  bucketsFrom,
  isEdited,
  MOST_ENTRIES,
  type StoredTimeline,
  TORN,
} from "./stored_timeline.ts";

/** What a block holds, in the low two bits of its fingerprint's low half. */
export const blockKind = { cells: 0, tree: 1, sequence: 2, chain: 3 } as const;

/** What cells can stand in a block itself, by their types. */
const KINDS_OF_BLOCKS: ReadonlyMap<string, number> = new Map([
  ["0", blockKind.cells],
  ["0,0", blockKind.cells],
  ["0,1", blockKind.tree],
  ["2", blockKind.sequence],
]);
/** Most cells of a state: 8 KB. */
const MOST_CELLS = 1_024;
/** Windows of more sub-buckets stand in a segment tree. */
const TREE_FROM = 65;
/** Sums of a tree are over up to twice the window, of 31 bits, and below what would be a NaN. */
const TREE_LIMIT = 2 ** 30 - 2 ** 20;

/** How one algorithm's states lie in cells. */
interface CellLayout {
  readonly types: readonly CellType[];
  load(ints: Int32Array, floats: Float64Array, at: number): unknown;
  /** Writes a state; `old` is where the replaced one lies in the same arrays, -1 if there is none. */
  save(state: unknown, ints: Int32Array, floats: Float64Array, at: number, old: number): void;
}

/** How one algorithm's states lie in blocks. */
export interface StateLayout {
  readonly kind: number;
  /** Whether the states are one number each, in the first cell. */
  readonly isNumber: boolean;
  /** What `load` reads of a key without use: the fresh state of the first algorithm of its id. */
  readonly initial: unknown;
  /** Reads the state of a block; `undefined` if its words are none. */
  load(block: number): unknown;
  /** Writes a state into a block; `old` is the block that it replaces, 0 if there is none. */
  save(state: unknown, block: number, old: number): void;
}

/** Throws if states of the algorithm fit no block, tree or sequence. */
export function checkStateFits(algorithm: Algorithm): void {
  cellsOf(algorithm);
}

function refuse(rule: string, value: number): RangeError {
  return new RangeError(errorMessage("keep states in the shared store", rule, value));
}

/** How many cells a state takes. */
function cellsOf(algorithm: Algorithm): number {
  const { internals: { slots, parts } = {}, capacity, codec: { maxWords }, initial } = algorithm;
  let cells = 1;
  if (slots !== undefined) {
    const entries = Math.min(slots, capacity);
    if (entries > MOST_ENTRIES) {
      const rule = `min(period in ms, limit) of ${algorithm.id} must be at most ${MOST_ENTRIES}` +
        " (slidingWindow with a coarser precision takes less)";
      throw refuse(rule, entries);
    }
    cells = isTree(algorithm) ? 2 : 1;
  } else if (parts !== undefined) {
    cells = parts.reduce((sum, part) => sum + cellsOf(part), 0);
  } else if (!(maxWords === 1 && typeof initial === "number")) cells = 1 + maxWords;
  if (cells > MOST_CELLS) {
    throw refuse(`${algorithm.id} must take at most ${MOST_CELLS} words`, cells);
  }
  return cells;
}

/** Logs, whose sub-buckets are of 1 ms, hold few units in many slots: they are no trees. */
function isTree({ internals: { slots = 0 } = {}, capacity, policies }: Algorithm): boolean {
  const isLog = policies[0]?.period === slots;
  return slots >= TREE_FROM && slots <= MOST_ENTRIES && capacity < TREE_LIMIT && !isLog;
}

/** The form of an algorithm's states. */
export function stateLayout(memory: Memory, nodes: Nodes, algorithm: Algorithm): StateLayout {
  const part = partOf(memory, nodes, algorithm);
  const { ints, floats, blocks } = memory;
  const cellsAt = (block: number) => (blocks >> 1) + 4 * block + 2;
  const held = KINDS_OF_BLOCKS.get(part.types.join());
  if (held === undefined) return chainForm(memory, nodes, part, algorithm.initial);
  return {
    kind: held,
    isNumber: isNumber(algorithm),
    initial: algorithm.initial,
    load: (block) => part.load(ints, floats, cellsAt(block)),
    save: (state, block, old) =>
      part.save(state, ints, floats, cellsAt(block), old === 0 ? -1 : cellsAt(old)),
  };
}

function isNumber({ initial, codec, internals: { parts, slots } = {} }: Algorithm): boolean {
  return typeof initial === "number" && codec.maxWords === 1 && parts === undefined &&
    slots === undefined;
}

function partOf(memory: Memory, nodes: Nodes, algorithm: Algorithm): CellLayout {
  const { slots, parts } = algorithm.internals ?? {};
  if (slots !== undefined) {
    return isTree(algorithm)
      ? treePart(memory, nodes, slots)
      : sequencePart(memory, nodes, Math.min(slots, algorithm.capacity));
  }
  if (parts !== undefined) {
    return allPart(algorithm, parts.map((part) => partOf(memory, nodes, part)));
  }
  return isNumber(algorithm) ? numberPart : codecPart(algorithm);
}

const numberPart: CellLayout = {
  types: [0],
  load: (_ints, floats, at) => floats[at],
  save(state, _ints, floats, at) {
    floats[at] = state as number;
  },
};

function codecPart({ codec }: Algorithm): CellLayout {
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

/**
 * Window in a tree: newest; root and, in the second half, from the lowest bit, levels (2 bits), how
 * far the floor is behind newest (17), and the units that are pending (13).
 */
function treePart(memory: Memory, nodes: Nodes, slots: number): CellLayout {
  const shape = treeShape(memory, nodes, slots, EMPTY_TIMELINE);
  const rootAt = (at: number) => 2 * at + 2;

  function write(
    ints: Int32Array,
    floats: Float64Array,
    at: number,
    { root, pending }: TreeRoot,
    own: Timeline,
  ): void {
    const floor = (own as Partial<StoredTimeline>).floor ?? own.newest - slots + 1;
    floats[at] = own.newest;
    ints[rootAt(at)] = root;
    ints[rootAt(at) + 1] = (pending << 19) | ((own.newest - floor) << 2) | shape.levels;
  }

  return {
    types: [0, 1],
    load(ints, floats, at) {
      const root = ints[rootAt(at)]!;
      const newest = floats[at]!;
      if (root === 0) return EMPTY_TIMELINE;
      const rest = ints[rootAt(at) + 1]!;
      return loadTree(shape, root, newest, newest - ((rest >> 2) & 0x1ffff), rest >>> 19);
    },
    save(state, ints, floats, at, old) {
      const timeline = state as Timeline;
      const kept = rootOfTree(timeline);
      if (kept !== undefined) return write(ints, floats, at, kept, timeline);
      if (isEdited(timeline)) {
        return write(ints, floats, at, editTree(timeline), timeline);
      }
      const oldRoot = old === -1 ? 0 : ints[rootAt(old)]!;
      if (oldRoot !== 0) nodes.drop(oldRoot, treeOf(shape.levels));
      const buckets = bucketsFrom(timeline, timeline.newest - slots + 1);
      const root = buckets.length === 0 ? 0 : buildTree(shape, buckets);
      if (root === 0) ints.fill(0, 2 * at, 2 * at + 4);
      else write(ints, floats, at, { root, pending: 0 }, timeline);
    },
  };
}

function sequencePart(memory: Memory, nodes: Nodes, entries: number): CellLayout {
  const shape = totalsShape(memory, nodes, entries, EMPTY_TIMELINE);
  return {
    types: [2],
    load(ints, _floats, at) {
      const root = ints[2 * at]!;
      return root === 0 ? EMPTY_TIMELINE : loadTotals(shape, root);
    },
    save(state, ints, _floats, at, old) {
      const timeline = state as Timeline;
      ints[2 * at + 1] = 0;
      const kept = rootOfTotals(timeline);
      if (kept !== 0) ints[2 * at] = kept;
      else if (isEdited(timeline)) ints[2 * at] = editTotals(timeline);
      else {
        const oldRoot = old === -1 ? 0 : ints[2 * old]!;
        if (oldRoot !== 0) nodes.drop(oldRoot, SEQUENCE);
        const buckets = bucketsFrom(timeline, -Infinity);
        ints[2 * at] = buckets.length === 0 ? 0 : buildTotals(shape, buckets);
      }
    },
  };
}

function allPart(algorithm: Algorithm, parts: readonly CellLayout[]): CellLayout {
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
      const states = parts.map((part, place) => part.load(ints, floats, at + starts[place]!));
      if (states.includes(undefined)) return undefined;
      return states.every((state, place) => state === initial[place]) ? initial : states;
    },
    save(state, ints, floats, at, old) {
      const states = state as readonly unknown[];
      parts.forEach((part, place) => {
        const start = starts[place]!;
        part.save(states[place], ints, floats, at + start, old === -1 ? -1 : old + start);
      });
    },
  };
}

/** States of more than two cells: copied from nodes to an array of the thread's own, and back. */
function chainForm(
  { ints, blocks }: Memory,
  nodes: Nodes,
  part: CellLayout,
  initial: unknown,
): StateLayout {
  const cells = part.types.length;
  const length = Math.ceil(cells / CELLS_PER_NODE);
  const scratch = new Float64Array(2 * length * CELLS_PER_NODE);
  const scratchInts = new Int32Array(scratch.buffer);
  const oldStart = length * CELLS_PER_NODE;
  const types = Array.from({ length }, (_, node) => {
    const own = part.types.slice(node * CELLS_PER_NODE, (node + 1) * CELLS_PER_NODE);
    return own.reduce((sum: number, type, cell) => sum | (type << (2 * cell)), 0);
  });
  const hasNodes = types.some((type) => type !== 0);
  const firstAt = (block: number) => blocks + 8 * block + 4;

  /** Copies the cells of a block to the array. */
  function read(block: number, start: number): void {
    let node = ints[firstAt(block)]!;
    for (let place = 0; place < length; place++) {
      const at = nodes.at(node);
      const to = 2 * (start + place * CELLS_PER_NODE);
      for (let word = 0; word < 2 * CELLS_PER_NODE; word++) {
        scratchInts[to + word] = ints[at + 2 + word]!;
      }
      node = ints[at]!;
    }
  }

  /** Drops the nodes of the chain: what its cells name is dropped with the parts. */
  function drop(block: number): void {
    let node = ints[firstAt(block)]!;
    for (let place = 0; place < length; place++) {
      nodes.drop(node, SINGLE);
      node = ints[nodes.at(node)]!;
    }
  }

  return {
    kind: blockKind.chain,
    isNumber: false,
    initial,
    load(block) {
      read(block, 0);
      return part.load(scratchInts, scratch, 0);
    },
    save(state, block, old) {
      let next = 0;
      if (old !== 0) {
        if (hasNodes) read(old, oldStart);
        drop(old);
      }
      part.save(state, scratchInts, scratch, 0, old === 0 ? -1 : oldStart);
      for (let place = length - 1; place >= 0; place--) {
        const node = nodes.make();
        const at = nodes.at(node);
        const from = 2 * place * CELLS_PER_NODE;
        ints[at] = next;
        ints[at + 1] = types[place]!;
        for (let word = 0; word < NODE - 2; word++) ints[at + 2 + word] = scratchInts[from + word]!;
        next = node;
      }
      ints[firstAt(block)] = next;
    },
  };
}

/** Tells `visit` the topmost nodes of a block's state. */
export function visitNodes(
  { ints, blocks }: Memory,
  block: number,
  visit: (node: number, shape: NodeShape) => void,
): void {
  const at = blocks + 8 * block;
  const held = ints[at]! & 3;
  if (held === blockKind.tree) rootIn(ints, at + 6, 1, visit);
  else if (held === blockKind.sequence) rootIn(ints, at + 4, 2, visit);
  else if (held === blockKind.chain && ints[at + 4] !== 0) visit(ints[at + 4]!, CHAIN);
}
