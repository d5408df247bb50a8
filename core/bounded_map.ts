/*
 * Maps whose keys come from outside need a bound. A plain `Map` keeps its entries in the order in
 * which they were set, so the first entry is the oldest.
 */

/**
 * Sets an entry, which becomes the newest. A map with more than `most` entries loses its oldest.
 */
export function setBounded<Key, Value>(
  map: Map<Key, Value>,
  key: Key,
  value: Value,
  most: number,
): void {
  map.delete(key);
  if (map.size >= most) map.delete(map.keys().next().value as Key);
  map.set(key, value);
}
