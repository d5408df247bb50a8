/*
 * Trees that keep windows and logs.
 *
 *   leaf    words of the form's own
 *   inner   the sum below each child, and 16 children; in a wide tree 32 children and no sums
 *   root    16 words of the form's own, or sums, and 16 children in a ring: the child of items
 *           [g * span, (g + 1) * span) stands at g mod 16
 *
 * Items (sub-buckets, or entries of a log) are numbered from the first one ever, so a child never
 * changes its range. The root drops outdated items, a whole child at a time, and a new child begins
 * empty. The span is so large that the items that are kept never touch more than 16 children. An edit
 * copies one path (see `nodes.ts`).
 */

import { NODE } from "../layout.ts";
import { type NodeShape, ROOT, WIDE } from "../allocator/node_shape.ts";
import type { Nodes } from "../allocator/nodes.ts";

/** Children of a root, and where they begin in it. */
export const RING = 16;

/** The form of the trees for one algorithm's states. */
export interface RingTree {
  readonly ints: Int32Array;
  readonly floats: Float64Array;
  readonly nodes: Nodes;
  /** How many levels are below a root, and how many items below each of its children. */
  readonly levels: number;
  readonly span: number;
  /**
   * The exponents of the span, and of the number of children of an inner node, both powers of two.
   */
  readonly shift: number;
  readonly bits: number;
  /** The shape of its root. */
  readonly shape: NodeShape;
}

/** A form of trees: how many items are in a leaf, and whether the trees are wide. */
export interface TreeForm {
  readonly ofLeaf: number;
  readonly isWide: boolean;
}

/** The trees that can hold `items` items, wherever in a child the first one is. */
export function ringTree(nodes: Nodes, items: number, form: TreeForm): RingTree {
  const { ints, floats } = nodes.memory;
  const { levels, span, bits } = levelsFor(items, form);
  const shape = levels | (form.isWide ? WIDE : 0) | ROOT;
  return { ints, floats, nodes, levels, span, shift: Math.log2(span) | 0, bits, shape };
}

function levelsFor(items: number, { ofLeaf, isWide }: TreeForm) {
  const bits = isWide ? 5 : 4;
  let levels = 1;
  let span = ofLeaf;
  while (items > (RING - 1) * span + 1) {
    levels++;
    span <<= bits;
  }
  return { levels, span, bits };
}

/**
 * The most nodes that a tree of that many items takes if at most `leavesInUse` leaves are in use.
 */
export function nodesOfTree(items: number, form: TreeForm, leavesInUse: number): number {
  const { levels, span, bits } = levelsFor(items, form);
  const children = Math.min(RING, Math.ceil((items - 1) / span) + 1);
  // The oldest child may still have all its leaves, with items that no longer count.
  const leaves = Math.min(children * (span / form.ofLeaf), leavesInUse + span / form.ofLeaf - 1);
  let nodes = 1 + leaves;
  for (let level = 1, inner = children; level < levels; level++, inner <<= bits) {
    nodes += Math.min(inner, leaves);
  }
  return nodes;
}

/**
 * Adds units, which may be negative, to the sums along the path to an item. The root is new already.
 *
 * @param units 0 in a wide tree, which has no sums. The words in their places then stay the same.
 * @param fresh Whether all nodes below the root are new.
 * @param isLast Whether the item is then the last one, so that later items are cleared.
 * @returns The place of the item's leaf.
 */
export function addTo(
  tree: RingTree,
  root: number,
  item: number,
  units: number,
  fresh = false,
  isLast = false,
): number {
  const { ints, nodes, span, levels, bits } = tree;
  const group = Math.floor(item / span);
  let offset = (item - group * span) | 0;
  let width = tree.shift;
  let at = nodes.at(root);
  let branch = group & 15;
  let first = RING;
  let added = units;
  for (let level = levels;; level--) {
    ints[at + branch]! += added;
    if (level === 0) return at;
    const child = ints[at + first + branch]!;
    const isOwn = fresh || nodes.isNew(child);
    const next = child === 0 ? nodes.makeEmpty() : isOwn ? child : nodes.copy(child);
    ints[at + first + branch] = next;
    at = nodes.at(next);
    first = NODE - (1 << bits);
    if (level > 1) width -= bits;
    branch = level > 1 ? offset >> width : offset;
    if (level > 1) offset &= (1 << width) - 1;
    if (isLast) added += clearAfter(tree, at, branch, level - 1);
  }
}

/** The place of an item's leaf in a wide tree. */
export function leafOf(
  { ints, nodes, span, shift, levels }: RingTree,
  root: number,
  item: number,
): number {
  const group = Math.floor(item / span);
  let offset = (item - group * span) | 0;
  let node = ints[nodes.at(root) + RING + (group & 15)]!;
  let width = shift;
  for (let level = levels; level > 1; level--) {
    width -= 5;
    node = ints[nodes.at(node) + (offset >> width)]!;
    offset &= (1 << width) - 1;
  }
  return nodes.at(node);
}

/** Clears the branches after one branch of a node that is new already, and returns their units. */
function clearAfter(tree: RingTree, at: number, branch: number, levels: number): number {
  const { ints } = tree;
  let cleared = 0;
  for (let later = branch + 1; later < (levels > 0 ? RING : NODE); later++) {
    cleared += ints[at + later]!;
    if (levels > 0) dropChild(tree, at, later, levels);
    else ints[at + later] = 0;
  }
  return cleared;
}

/**
 * Drops the children of a root without an item from `first` to `last`.
 *
 * @param before The last item that the root has held.
 * @returns The sum of the children after `last`.
 */
export function dropOutside(
  tree: RingTree,
  root: number,
  before: number,
  first: number,
  last: number,
): number {
  const { ints, nodes, span, levels } = tree;
  const at = nodes.at(root);
  const newest = Math.floor(before / span);
  let later = 0;
  for (let index = 0; index < RING; index++) {
    if (ints[at + RING + index] === 0) continue;
    const group = newest - ((newest - index) & (RING - 1));
    if (group >= Math.floor(first / span) && group * span <= last) continue;
    if (group * span > last) later += ints[at + index]!;
    dropChild(tree, at, index, levels);
  }
  return later;
}

function dropChild(
  { ints, nodes, shape }: RingTree,
  at: number,
  branch: number,
  levels: number,
): void {
  const child = ints[at + RING + branch]!;
  ints[at + branch] = 0;
  ints[at + RING + branch] = 0;
  if (child !== 0) nodes.drop(child, (shape & WIDE) | (levels - 1));
}
