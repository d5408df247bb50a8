/*
 * Which slot a limiter's keys have. That is a `Map`, and further ones where it has as many keys as
 * one can hold: V8's has 2^24 entries at most, deleted ones included, and refuses to clear those away
 * while more than half of them are in use.
 */

/** All keys of one limiter. */
export interface Table {
  /** What their stored keys have in common. */
  readonly family: string;
  /** Whether its states are numbers, and lie in cells. */
  readonly numeric: boolean;
  /** The slots of its keys: of the first ones, and of those for which that has no room. */
  readonly slots: Map<string, number>;
  readonly further: Map<string, number>[];
  /** How many keys one map has. */
  readonly mapSize: number;
}

/** How many keys a map holds, however many come and go. */
const MAP_SIZE = 2 ** 23;

/** A table without keys. */
export function emptyTable(family: string, numeric: boolean, mapSize: number = MAP_SIZE): Table {
  return { family, numeric, slots: new Map(), further: [], mapSize };
}

/** The slot of a key; `undefined` if it is not held. */
export function slotOf(table: Table, key: string): number | undefined {
  return table.slots.get(key) ?? furtherSlotOf(table, key);
}

/** The slot of a key that is not in the first map. */
export function furtherSlotOf({ further }: Table, key: string): number | undefined {
  for (const slots of further) {
    const slot = slots.get(key);
    if (slot !== undefined) return slot;
  }
  return undefined;
}

/** Adds a key that is not held. */
export function keepKey({ slots, further, mapSize }: Table, key: string, slot: number): void {
  if (slots.size < mapSize) slots.set(key, slot);
  else roomyMap(further, mapSize).set(key, slot);
}

function roomyMap(maps: Map<string, number>[], mapSize: number): Map<string, number> {
  for (const map of maps) if (map.size < mapSize) return map;
  const map = new Map<string, number>();
  maps.push(map);
  return map;
}

/** Removes a key. */
export function forgetKey({ slots, further }: Table, key: string): void {
  if (!slots.delete(key)) further.some((map) => map.delete(key));
}

/** Whether a table has no keys. */
export function isEmpty({ slots, further }: Table): boolean {
  return slots.size === 0 && further.every((map) => map.size === 0);
}

/** The slots of all keys. */
export function allSlots({ slots, further }: Table): number[] {
  return [slots, ...further].flatMap((map) => [...map.values()]);
}
