/*
 * Finds the time zones that an unknown name may mean.
 */

import { isNear } from "./suggest_option.ts";

/** The most names that an error lists. */
const MOST_NAMES = 3;

/**
 * The names of the zones nearest to an unknown name, the nearest first: compared by the whole name,
 * or by the city alone.
 */
export function suggestZones(unknown: string): readonly string[] {
  const name = plain(unknown);
  const city = cityOf(name);
  const known = Intl.supportedValuesOf("timeZone");
  const farthest = Math.min(Math.max(1, Math.floor(city.length / 3)), 3);
  for (let changes = 0; changes <= farthest; changes++) {
    const near = known.filter((each) => {
      const other = plain(each);
      return isNear(name, other, changes) || isNear(city, cityOf(other), changes);
    });
    if (near.length > 0) return near.slice(0, MOST_NAMES);
  }
  return [];
}

function plain(name: string): string {
  return name.slice(0, 40).toLowerCase().replaceAll(" ", "_");
}

function cityOf(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}
