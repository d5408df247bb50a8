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
 * assert.equal(storedKey("api", "gcra/10/1000/10", "user:42"), "api:{user:42}:gcra/10/1000/10");
 * assert.equal(storedKey("api", "gcra/10/1000/10", "a}b"), "api:{a%7Db}:gcra/10/1000/10");
 * ```
 */
export function storedKey(prefix: string, id: string, key: string): string {
  return `${escaped(prefix)}:{${escaped(key)}}:${id}`;
}

function escaped(text: string): string {
  return /[%{}]/.test(text)
    ? text.replaceAll("%", "%25").replaceAll("{", "%7B").replaceAll("}", "%7D")
    : text;
}

/**
 * Takes a stored key apart: into whose it is (prefix and id, escaped: the same for all keys of one
 * limiter) and the limiter's key, as it was given. Those of another form are each a family of their
 * own.
 */
export function splitStoredKey(
  stored: string,
): { readonly family: string; readonly key: string } {
  const start = stored.indexOf(":{");
  const end = stored.indexOf("}:", start);
  if (start === -1 || end === -1) return { family: stored, key: stored };
  return {
    family: `${stored.slice(0, start)}:{}${stored.slice(end + 1)}`,
    key: unescaped(stored.slice(start + 2, end)),
  };
}

/** The family of a limiter's keys. */
export function keyFamily(prefix: string, id: string): string {
  return storedKey(prefix, id, "");
}

function unescaped(text: string): string {
  return text.includes("%")
    ? text.replaceAll("%7D", "}").replaceAll("%7B", "{").replaceAll("%25", "%")
    : text;
}
