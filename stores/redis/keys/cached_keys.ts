import { LONGEST_KEY } from "../../../core/options/longest_key.ts";

/** The most keys of which the stored key is remembered, of all limiters of a store. */
const MOST_KEYS = 20_000;
/** The most characters of all of them. */
const MOST_TEXT = 2_000_000;

/** Makes stored keys of keys. */
type NameOf = (key: string) => string;

/**
 * Remembers the stored keys that the limiters of one store make of keys. One that is put together
 * anew for each call would have to be hashed anew by every table that it is looked up in.
 *
 * When it is full it forgets them all: what is in use is soon there again.
 *
 * @returns Has a limiter's stored keys remembered.
 */
export function cachedKeys(): (nameOf: NameOf) => NameOf {
  // Those with something in them; a limiter that is gone is let go of when they are emptied.
  let tables: Map<string, string>[] = [];
  let count = 0;
  let size = 0;

  function makeRoom(length: number): void {
    if (count < MOST_KEYS && size + length <= MOST_TEXT) return;
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
