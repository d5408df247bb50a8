/*
 * Which slot a limiter's keys have. That is a `Map`, and further ones where it has as many keys as
 * one can hold: V8's has 2^24 entries at most, deleted ones included, and refuses to clear those away
 * while more than half of them are in use.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { hasNotes } from "../../core/receipts/noted.ts";
import type { StateBytes } from "../../core/algorithms/state_bytes.ts";

/** All keys of one limiter. */
export interface Table {
  /** The part that their stored keys have in common. */
  readonly family: string;
  /** The family of the table beside it: those keys whose states have notes. */
  readonly notes: string;
  /** Whether its states are numbers, and lie in cells. */
  readonly numeric: boolean;
  /**
   * The algorithm of its states; `undefined` if they are text, because they come from a snapshot and no
   * limiter has opened the family yet.
   */
  readonly algorithm: Algorithm | undefined;
  /** How many bytes a state takes that does not lie in a cell. */
  readonly stateBytes: StateBytes;
  /** Whether it holds those keys of a family whose states have notes. */
  readonly isBeside: boolean;
  /** The slots of its keys: of the first ones. */
  readonly slots: Map<string, number>;
  /** The same of all: `slots`, and those of the keys for which that has no room. */
  readonly maps: Map<string, number>[];
  /** How many keys one map has. */
  readonly mapSize: number;
}

/** The end of the name under which a table beside another one is held. */
const NOTES = " noted";

/**
 * The family of those keys of another one whose states have notes. They lie apart, so that calls on all
 * other keys need not ask for notes.
 */
export function notesOf(family: string): string {
  return family + NOTES;
}

/** The family of the keys of a table, as their stored keys name it. */
export function familyOf({ family, isBeside }: Table): string {
  return isBeside ? family.slice(0, -NOTES.length) : family;
}

/** How many keys a map holds, however many come and go. */
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

/** The table for a state: those with notes lie beside the others. */
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
