/*
 * The bytes that a key takes in the memory store. Engines do not report them, so these are averages
 * measured on V8, whose maps and arrays are between half full and full.
 */

/** The bytes of a key beside its text: its slot, an entry in a map, and the head of a string. */
export const KEY_BYTES = 125;

/** A character for which an engine keeps the whole text at two bytes a character. */
const WIDE = /[^\0-\xff]/;

/** The bytes of a key without its state. */
export function keyBytes(key: string): number {
  return KEY_BYTES + (WIDE.test(key) ? 2 * key.length : key.length);
}
