/*
 * The names of keys in Redis. Different keys must never get the same name, and the hash tag keeps
 * keys that are charged together in one slot of a cluster.
 */

import { errorMessage } from "../../../core/options/checks.ts";
import { isWellFormed, requireWellFormed } from "../../../core/options/well_formed.ts";
import { keyFamily, storedKey } from "../../../core/stored_key.ts";

/**
 * The key under which Redis holds a state: `prefix:{key}:id`, or with a tag
 * `prefix:{tag}:{key}:id`. A cluster chooses the slot by the text in the first braces.
 *
 * @throws {TypeError} If the key is not well-formed UTF-16 (two malformed keys would become the
 * same bytes), or the tag is not a non-empty string.
 */
export function storedRedisKey(
  prefix: string,
  id: string,
  key: string,
  tag: string | undefined,
): string {
  if (tag !== undefined && (typeof tag !== "string" || tag === "")) {
    throw new TypeError(errorMessage("store a key", "its hashTag must be a non-empty string", tag));
  }
  const stored = tag === undefined
    ? storedKey(prefix, id, key)
    : storedKey(prefix, storedKey("", id, key).slice(1), tag);
  requireWellFormed(key, stored);
  return stored;
}

/** Makes the stored keys of one limiter; for plain keys it only concatenates three texts. */
export function keyNamer(
  prefix: string,
  id: string,
  hashTag: ((key: string) => string) | undefined,
): (key: string) => string {
  const family = keyFamily(prefix, id);
  const open = family.indexOf("{}") + 1;
  const before = family.slice(0, open);
  const after = family.slice(open);
  const mayBePlain = hashTag === undefined && isWellFormed(family);
  return function nameOf(key) {
    return mayBePlain && !UNUSUAL.test(key)
      ? before + key + after
      : storedRedisKey(prefix, id, key, hashTag === undefined ? undefined : hashTag(key) ?? "");
  };
}

/** Characters that must be escaped, and halves of characters. */
const UNUSUAL = /[%{}\ud800-\udfff]/;
