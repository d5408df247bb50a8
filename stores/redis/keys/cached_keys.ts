/*
 * Caches the names of keys in Redis. A text that is concatenated for each call would have to be
 * hashed for each call, too, by the maps that it is looked up in.
 */

import { LONGEST_KEY } from "../../../core/options/longest_key.ts";

/** The most keys that are remembered, for all limiters of a store together. */
const MAX_KEYS = 20_000;
/** The most characters of these keys and their stored keys. */
const MAX_CHARACTERS = 2_000_000;

/** Makes stored keys of keys. */
type NameOf = (key: string) => string;

/**
 * Makes the cache of a store, which all its limiters share. When it is full it forgets everything:
 * the keys in use are soon there again.
 *
 * @returns Adds the cache to the function that makes a limiter's stored keys.
 */
export function cachedKeys(): (nameOf: NameOf) => NameOf {
  // Only tables that hold something, so that clearing the cache releases limiters that are gone.
  let tables: Map<string, string>[] = [];
  let count = 0;
  let size = 0;

  function makeRoom(length: number): void {
    if (count < MAX_KEYS && size + length <= MAX_CHARACTERS) return;
    for (const names of tables) names.clear();
    tables = [];
    count = 0;
    size = 0;
  }

  return (nameOf) => {
    const names = new Map<string, string>();
    function remember(key: string): string {
      const name = nameOf(key);
      if (key.length > LONGEST_KEY) return name;
      const length = key.length + name.length;
      makeRoom(length);
      if (names.size === 0) tables.push(names);
      count++;
      size += length;
      names.set(key, name);
      return name;
    }

    return (key) => names.get(key) ?? remember(key);
  };
}
