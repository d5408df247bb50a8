import { LONGEST_KEY } from "../../../core/options/longest_key.ts";

/** The most keys of which the stored key is remembered. */
const MOST_KEYS = 20_000;
/** The most characters of all of them. */
const MOST_TEXT = 2_000_000;

/**
 * Remembers the stored keys that a function makes of keys. One that is put together anew for each
 * call would have to be hashed anew by every table that it is looked up in.
 *
 * When it is full it forgets them all: what is in use is soon there again.
 */
export function cachedKeys(nameOf: (key: string) => string): (key: string) => string {
  const names = new Map<string, string>();
  let size = 0;

  function remember(key: string): string {
    const name = nameOf(key);
    if (key.length > LONGEST_KEY) return name;
    const length = key.length + name.length;
    if (names.size >= MOST_KEYS || size + length > MOST_TEXT) {
      names.clear();
      size = 0;
    }
    size += length;
    names.set(key, name);
    return name;
  }

  return (key) => names.get(key) ?? remember(key);
}
