/*
 * Keys by the bucket that is their home, where the hash of a store is a known one.
 */

import type { Algorithm } from "../../../../mod.ts";
import { keyFamily } from "../../../../core/stored_key.ts";
import { attachMemory, BUCKET, header } from "../../../../stores/shared/layout.ts";
import {
  attachSharedStore,
  type SharedStore,
  type SharedStoreHandle,
} from "../../../../stores/shared/shared_store.ts";
import { hashFamily, hashStart, hashText } from "../../../../stores/shared/table/hash.ts";
import { bucketOf } from "../../../../stores/shared/table/table.ts";

/** A thread on a store that nobody has used yet, whose keys fall into the same buckets in each run. */
export function withFixedHash(store: SharedStore): SharedStore {
  store.close();
  const { ints } = attachMemory(store.handle.buffer);
  ints[header.hashKeyLow] = ints[header.hashKeyHigh] = 7;
  return attachSharedStore(store.handle);
}

/** The home of a key under the prefix of `limiterOn`, counted from the table's first bucket. */
export function homeOf({ buffer }: SharedStoreHandle, algorithm: Algorithm, key: string): number {
  const memory = attachMemory(buffer);
  const start = hashStart(memory.ints[header.hashKeyLow]!, memory.ints[header.hashKeyHigh]!);
  const out = new Int32Array(2);
  hashText(hashFamily(start, keyFamily("test", algorithm.id)), key, out);
  return (bucketOf(memory, out[0]!) - memory.buckets) / BUCKET;
}

/** So many keys of one home, beginning with a name. */
export function keysOfHome(
  handle: SharedStoreHandle,
  algorithm: Algorithm,
  home: number,
  count: number,
  name = "key",
): string[] {
  const keys: string[] = [];
  for (let number = 0; keys.length < count; number++) {
    const key = `${name} ${number}`;
    if (homeOf(handle, algorithm, key) === home) keys.push(key);
  }
  return keys;
}
