import { complaint } from "../../core/check.ts";
import { storedKey } from "../../core/stored_key.ts";

/**
 * The key under which Redis holds a state: `prefix:{key}:id`, or with a tag `prefix:{tag}:{key}:id`.
 * Redis hashes what stands in the first braces.
 *
 * @throws {TypeError} If it is no well-formed text, or the tag is no non-empty string: two malformed
 * keys would become the same bytes.
 */
export function storedRedisKey(
  prefix: string,
  id: string,
  key: string,
  tag: string | undefined,
): string {
  const stored = tag === undefined
    ? storedKey(prefix, id, key)
    : storedKey(prefix, storedKey("", id, key).slice(1), tag);
  if (/\p{Surrogate}/u.test(stored)) {
    throw new TypeError(complaint("store a key", "it must be well-formed UTF-16", key));
  }
  return stored;
}
