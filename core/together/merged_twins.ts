/*
 * Asks for one key. Clients may choose keys, and a limit of a descriptor may be that of a rule, so two
 * asks of a request may be for the same key. A store takes from a key once, so they become one ask.
 */

import { repeatedOperation } from "../repeated_operation.ts";
import type { Ask, Counter } from "./ask.ts";

/** Asks for distinct keys. */
export interface DistinctAsks<Each> {
  readonly asks: readonly Each[];
  /** The place of each given ask among them. */
  readonly places: readonly number[];
}

/**
 * Adds up the units of each key; `undefined` if all keys differ. Where the limits of a key differ, the
 * lower one decides.
 *
 * @param askFor Makes an ask for another number of units.
 */
export function mergedTwins<Of extends Counter, Each extends Ask<Of>>(
  given: readonly Each[],
  askFor: (counter: Of, key: string, units: number) => Each,
): DistinctAsks<Each> | undefined {
  if (repeatedOperation(given) === undefined) return undefined;
  const placesByName = new Map<string, number>();
  const asks: Each[] = [];
  const places = given.map((ask) => {
    const name = ask.bound.family.nameOf(ask.key);
    const place = placesByName.get(name) ?? asks.length;
    placesByName.set(name, place);
    const twin = asks[place];
    asks[place] = twin === undefined
      ? ask
      : askFor(lowerOf(twin, ask).counter, ask.key, unitsOfBoth(twin, ask));
    return place;
  });
  return { asks, places };
}

/** The ask whose limit is lower; of equal limits, the one that takes over use of older options. */
function lowerOf<Each extends Ask>(one: Each, other: Each): Each {
  const { older, algorithm: { capacity } } = one.bound.family.spec;
  const { older: otherOlder, algorithm: { capacity: otherCapacity } } = other.bound.family.spec;
  const isFirst = capacity === otherCapacity
    ? older.length >= otherOlder.length
    : capacity < otherCapacity;
  return isFirst ? one : other;
}

function unitsOfBoth(one: Ask, other: Ask): number {
  const units = one.bound.verb.units(one.argument) + other.bound.verb.units(other.argument);
  return Math.min(units, Number.MAX_SAFE_INTEGER);
}
