/*
 * The stored keys of drivers: texts that every database can hold unchanged. A bad key would make its
 * whole batch fail, or be stored as another key.
 */

import { errorMessage } from "../core/options/checks.ts";
import { isWellFormed, requireWellFormed } from "../core/options/well_formed.ts";
import { keyFamily, plainKey, storedKey } from "../core/stored_key.ts";

/** The most bytes of a stored key. An index of Postgres can hold these, and other databases more. */
export const MOST_KEY_BYTES = 2_000;

/** Characters that may have to be escaped, or take more than a byte. */
const UNUSUAL = /[\0%{}]|\P{ASCII}/u;

/**
 * Makes the stored keys of a family. For plain keys it only concatenates three texts.
 *
 * @param family The stored key of an empty key.
 * @param most The most characters of a plain key.
 * @param other Makes the stored keys of keys that are not plain.
 */
export function plainNamer(
  family: string,
  most: number,
  other: (key: string) => string,
): (key: string) => string {
  if (!isWellFormed(family)) return other;
  const open = family.indexOf("{}") + 1;
  const before = family.slice(0, open);
  const after = family.slice(open);
  return (key) => key.length > most || UNUSUAL.test(key) ? other(key) : before + key + after;
}

/**
 * Makes the stored keys of one family: `prefix:{key}:id`, as on Redis, but that NUL is escaped, too.
 *
 * @returns A function that throws a `TypeError` for a key that is no well-formed text, and a
 * `RangeError` for one that is too long.
 */
export function driverKeyNamer(prefix: string, id: string): (key: string) => string {
  const family = keyFamily(prefix, id);
  const left = family.includes("\0") ? -1 : MOST_KEY_BYTES - byteLength(family);
  return plainNamer(family, left, (key) => checkedKey(storedKey(prefix, id, key), key));
}

/** The beginning of all stored keys of a prefix. */
export function keyBeginning(prefix: string): string {
  const family = withoutNul(keyFamily(prefix, ""));
  return family.slice(0, family.indexOf("{}") + 1);
}

/** The first text after every text with this beginning, in the order of UTF-8. */
export function textAfterAll(beginning: string): string {
  return beginning.slice(0, -1) +
    String.fromCharCode(beginning.charCodeAt(beginning.length - 1) + 1);
}

/** Makes the limiter's key of a stored key; `undefined` for the key of another algorithm. */
export function driverKeyReader(
  prefix: string,
  id: string,
): (stored: string) => string | undefined {
  const start = keyBeginning(prefix).length;
  const end = withoutNul(keyFamily(prefix, id)).slice(start);
  return (stored) =>
    stored.endsWith(end)
      ? plainKey(stored.slice(start, -end.length).replaceAll("%00", "\0"))
      : undefined;
}

function checkedKey(stored: string, key: string): string {
  requireWellFormed(key, stored);
  const name = withoutNul(stored);
  const bytes = byteLength(name);
  if (bytes > MOST_KEY_BYTES) {
    const rule = `prefix, key and algorithm must take at most ${MOST_KEY_BYTES} bytes`;
    throw new RangeError(errorMessage("store a key", rule, bytes));
  }
  return name;
}

/** Escapes NUL. No other percent sign of a stored key has these characters after it. */
function withoutNul(text: string): string {
  return text.replaceAll("\0", "%00");
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
