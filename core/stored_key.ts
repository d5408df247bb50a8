/**
 * The key under which a limiter's state is stored: `prefix:{key}:id`.
 *
 * The braces are a Redis hash tag, so that all limits of one key lie in one slot of a cluster.
 * Braces and percent signs in the prefix and the key are escaped, so that no two of them make the
 * same stored key.
 *
 * @param prefix The limiter's prefix.
 * @param id The algorithm's id.
 * @param key The limiter's key.
 *
 * @example
 * ```ts
 * import { storedKey } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * assert.equal(storedKey("api", "gcra/10/1000", "user:42"), "api:{user:42}:gcra/10/1000");
 * assert.equal(storedKey("api", "gcra/10/1000", "a}b"), "api:{a%7Db}:gcra/10/1000");
 * ```
 */
export function storedKey(prefix: string, id: string, key: string): string {
  return `${escapedKey(prefix)}:{${escapedKey(key)}}:${id}`;
}

/** A prefix or a key, escaped for a stored key. */
export function escapedKey(text: string): string {
  return /[%{}]/.test(text)
    ? text.replaceAll("%", "%25").replaceAll("{", "%7B").replaceAll("}", "%7D")
    : text;
}

/** The prefix or the key that `escapedKey` was given. */
export function plainKey(escaped: string): string {
  return escaped.includes("%")
    ? escaped.replaceAll("%7D", "}").replaceAll("%7B", "{").replaceAll("%25", "%")
    : escaped;
}

/** The family of a limiter's keys. */
export function keyFamily(prefix: string, id: string): string {
  return storedKey(prefix, id, "");
}
