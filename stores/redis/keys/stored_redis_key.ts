/*
 * The names of keys in Redis. Different keys must never get the same name, and the hash tag keeps
 * keys that are charged together in one slot of a cluster.
 */

import { errorMessage } from "../../../core/options/checks.ts";
import { requireWellFormed } from "../../../core/options/well_formed.ts";
import { keyFamily, storedKey } from "../../../core/stored_key.ts";
import { plainNamer } from "../../driver_keys.ts";

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

/** Makes the stored keys of one limiter. */
export function keyNamer(
  prefix: string,
  id: string,
  hashTag: ((key: string) => string) | undefined,
): (key: string) => string {
  const nameOf = (key: string) => storedRedisKey(prefix, id, key, hashTag && (hashTag(key) ?? ""));
  return hashTag === undefined ? plainNamer(keyFamily(prefix, id), Infinity, nameOf) : nameOf;
}
