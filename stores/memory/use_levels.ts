/*
 * Slots in ten levels, by the share of its capacity that the slot's key has in use. A full store
 * forgets a key of the lowest level, and chance decides which one.
 *
 * One array holds all slots, the highest level first, and each level in any order. So a slot that
 * moves to the next level changes places with the slot at the border. A new key has little use, and
 * goes to the end. A slot's level may be outdated, because a call on a known key writes only its cell.
 * So code that chooses a slot by its level reads the cell first.
 */

import { LEVELS } from "../../core/arithmetic/fresh_instant.ts";

/** Slots by their levels. */
export interface UseLevels {
  /** The slots, from the highest level to the lowest. */
  order: Int32Array;
  /** The place of each slot in the order. */
  ranks: Int32Array;
  /** The level by which each slot is ordered. */
  levels: Uint8Array;
  /** For each level, how many slots have it or a higher one. This is the level's end in the order. */
  readonly ends: Int32Array;
}

/** Makes levels for slots below `capacity`. */
export function useLevels(capacity: number): UseLevels {
  return {
    order: new Int32Array(capacity),
    ranks: new Int32Array(capacity),
    levels: new Uint8Array(capacity),
    ends: new Int32Array(LEVELS + 1),
  };
}

/** Adds a slot. */
export function addToLevel(use: UseLevels, slot: number, level: number): void {
  put(use, slot, use.ends[0]!++);
  use.levels[slot] = 0;
  moveToLevel(use, slot, level);
}

/** Moves a slot to its level. */
export function moveToLevel(use: UseLevels, slot: number, level: number): void {
  const { levels, ends } = use;
  let at = levels[slot]!;
  if (at === level) return;
  while (at < level) swap(use, slot, ends[++at]!++);
  while (at > level) swap(use, slot, --ends[at--]!);
  levels[slot] = level;
}

/** Takes a slot out. */
export function removeFromLevel(use: UseLevels, slot: number): void {
  moveToLevel(use, slot, 0);
  swap(use, slot, --use.ends[0]!);
}

/** A random slot of the lowest level that has any. There must be a slot. */
export function slotOfLowest({ order, ends }: UseLevels): number {
  let level = 0;
  while (ends[level] === ends[level + 1]) level++;
  return order[randomFrom(ends[level + 1]!, ends[level]!)]!;
}

/** A random slot. There must be one. */
export function anySlot({ order, ends }: UseLevels): number {
  return order[randomFrom(0, ends[0]!)]!;
}

/** Makes room for slots below `capacity`. */
export function growLevels(use: UseLevels, capacity: number): void {
  const { order, ranks, levels } = use;
  (use.order = new Int32Array(capacity)).set(order);
  (use.ranks = new Int32Array(capacity)).set(ranks);
  (use.levels = new Uint8Array(capacity)).set(levels);
}

function put({ order, ranks }: UseLevels, slot: number, rank: number): void {
  order[rank] = slot;
  ranks[slot] = rank;
}

function swap(use: UseLevels, slot: number, rank: number): void {
  const other = use.order[rank]!;
  put(use, other, use.ranks[slot]!);
  put(use, slot, rank);
}

function randomFrom(start: number, end: number): number {
  return start + Math.floor(Math.random() * (end - start));
}
