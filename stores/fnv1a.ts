/*
 * FNV-1a: a fast hash of short texts, for tables of a fixed size. It is not secret, so a client that
 * chooses keys can make them collide.
 */

/** A whole number from 0 to 2^32 - 1 by the UTF-16 units of a text. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
