/*
 * The table from a limiter's keys to their slots. It is a `Map`, and further maps once the first one is
 * full. V8's map has at most 2^24 entries, deleted entries included, and does not clear these away
 * while more than half of its entries are in use.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { hasNotes } from "../../core/receipts/noted.ts";
import type { StateBytes } from "../../core/algorithms/state_bytes.ts";

/** All keys of one limiter. */
export interface Table {
  /** The part that their stored keys have in common. */
  readonly family: string;
  /** The family of the table beside it, which holds the keys whose states have notes. */
  readonly notes: string;
  /** Whether its states are numbers, which lie in cells. */
  readonly numeric: boolean;
  /**
   * The algorithm of its states. It is `undefined` while they are text, which came from a snapshot and
   * waits until a limiter opens the family.
   */
  readonly algorithm: Algorithm | undefined;
  /** The bytes of a state that does not lie in a cell. */
  readonly stateBytes: StateBytes;
  /** Whether it is the table of a family's keys whose states have notes. */
  readonly isBeside: boolean;
  /** The first map from keys to slots. */
  readonly slots: Map<string, number>;
  /** All maps: `slots`, and further ones for keys that it has no room for. */
  readonly maps: Map<string, number>[];
  /** The most keys in one map. */
  readonly mapSize: number;
}

/** The end of the name of a table that lies beside another. */
const NOTES = " noted";

/**
 * The family of another family's keys whose states have notes. They lie apart, so that calls on all
 * other keys need not look for notes.
 */
export function notesOf(family: string): string {
  return family + NOTES;
}

/** The family of the keys of a table, as their stored keys name it. */
export function familyOf({ family, isBeside }: Table): string {
  return isBeside ? family.slice(0, -NOTES.length) : family;
}

/** The most keys that a map can hold, however many come and go. */
const MAP_SIZE = 2 ** 23;

/** A table without keys. */
export function emptyTable(
  family: string,
  numeric: boolean,
  algorithm: Algorithm | undefined,
  stateBytes: StateBytes,
  mapSize: number = MAP_SIZE,
  isBeside: boolean = false,
): Table {
  const slots = new Map<string, number>();
  const maps = [slots];
  const notes = notesOf(family);
  return { family, notes, numeric, algorithm, stateBytes, isBeside, slots, maps, mapSize };
}

/** The slot of a key; `undefined` if it is not held. */
export function slotOf({ maps }: Table, key: string): number | undefined {
  for (const map of maps) {
    const slot = map.get(key);
    if (slot !== undefined) return slot;
  }
  return undefined;
}

/** The slot of a key whose state has notes. */
export function slotBeside(
  { tables, noted }: { readonly tables: ReadonlyMap<string, Table>; readonly noted: number },
  { notes }: Table,
  key: string,
): number | undefined {
  if (noted === 0) return undefined;
  const beside = tables.get(notes);
  return beside && slotOf(beside, key);
}

/** The table for a state: states with notes lie in a table beside the others. */
export function tableFor(
  tables: ReadonlyMap<string, Table>,
  table: Table,
  state: unknown,
): Table {
  if (!isBesideOthers(table, state)) return table;
  const { notes, algorithm, stateBytes } = table;
  return tables.get(notes) ?? emptyTable(notes, false, algorithm, stateBytes, undefined, true);
}

/** Whether a state of a table's family lies in the table beside it. */
export function isBesideOthers({ numeric, algorithm }: Table, state: unknown): boolean {
  // The text of a snapshot is no state yet.
  return numeric
    ? typeof state !== "number"
    : algorithm !== undefined && hasNotes(algorithm, state);
}

/** Adds a key that is not held. */
export function keepKey({ maps, mapSize }: Table, key: string, slot: number): void {
  let map = maps.find(({ size }) => size < mapSize);
  if (map === undefined) maps.push(map = new Map());
  map.set(key, slot);
}

/** Removes a key. */
export function forgetKey({ maps }: Table, key: string): void {
  maps.some((map) => map.delete(key));
}

/** Whether a table has no keys. */
export function isEmpty({ maps }: Table): boolean {
  return maps.every(({ size }) => size === 0);
}

/** The slots of all keys. */
export function allSlots({ maps }: Table): number[] {
  return maps.flatMap((map) => [...map.values()]);
}
