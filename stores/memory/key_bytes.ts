/*
 * The bytes that a key takes in the memory store: its text, and its places in the tables. Engines do
 * not report them, so these are averages measured on V8, whose maps are between half full and full.
 */

/** The bytes of a slot, free or not: its cell, and its places in the queue, the levels and the lists. */
export const SLOT_BYTES = 65;
/** The bytes of a key beside the characters of its text: an entry in a map, and the head of a string. */
const ENTRY_BYTES = 56;

/** A character for which an engine keeps the whole text at two bytes a character. */
const WIDE = /[^\0-\xff]/;

/** The bytes of a key's text, with its entry. */
export function textBytes(key: string): number {
  return ENTRY_BYTES + (WIDE.test(key) ? 2 * key.length : key.length);
}
