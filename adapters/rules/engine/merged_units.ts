import type { BoundLimit } from "./bound_limits.ts";

/** Units of one key of a limit. */
export interface LimitUnits {
  readonly limit: BoundLimit;
  readonly key: string;
  readonly units: number;
}

/** Units of distinct keys. */
export interface MergedUnits {
  readonly units: readonly LimitUnits[];
  /** The place of each given entry among them. */
  readonly places: readonly number[];
}

/**
 * Adds up the units of each key. Duplicates arise because the limit of a descriptor may be the same as
 * a rule's.
 */
export function mergedUnits(given: readonly LimitUnits[]): MergedUnits {
  const placesByName = new Map<string, number>();
  const units: LimitUnits[] = [];
  const places = given.map((entry) => {
    const name = entry.limit.family.nameOf(entry.key);
    const place = placesByName.get(name) ?? units.length;
    placesByName.set(name, place);
    units[place] = merged(units[place], entry);
    return place;
  });
  return { units, places };
}

/** Two entries of one key as one entry, with the sum of their units. The lower limit decides. */
function merged(one: LimitUnits | undefined, other: LimitUnits): LimitUnits {
  if (one === undefined) return other;
  const units = Math.min(one.units + other.units, Number.MAX_SAFE_INTEGER);
  const { older, algorithm: { capacity } } = one.limit.family.spec;
  const { capacity: otherCapacity } = other.limit.algorithm;
  const isFirst = capacity === otherCapacity ? older.length > 0 : capacity < otherCapacity;
  return { ...(isFirst ? one : other), units };
}
