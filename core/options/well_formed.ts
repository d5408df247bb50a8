import { typeError } from "./checks.ts";

/**
 * A lone surrogate: half a character. Databases keep no such text, or keep two of them as one, so no
 * store takes such a key. Both this and `isWellFormed` take too long for each call on a known key.
 */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Whether text is well-formed UTF-16. */
export function isWellFormed(text: string): boolean {
  return !LONE_SURROGATE.test(text);
}

/**
 * Requires a key that is well-formed.
 *
 * @param text Text to check that contains the key; by default the key itself.
 */
export function requireWellFormed(key: string, text: string = key): void {
  if (isWellFormed(text)) return;
  throw typeError("store a key", "it must be well-formed UTF-16", key);
}
