import type { Algorithm } from "../../core/algorithm.ts";
import type { Decision } from "../../core/decision.ts";
import type { Lane, Operation, SyncStore } from "../../core/store.ts";
import { storedKey } from "../../core/stored_key.ts";
import { andThen } from "./maybe_promise.ts";

/** How a store names a key. */
export function storedKeyIn(store: SyncStore, prefix: string, id: string, key: string): string {
  return store.keyOf?.(prefix, id, key) ?? storedKey(prefix, id, key);
}

/** The store's way for single operations, or one made of `run`. */
export function preparedCall(
  store: SyncStore,
  prefix: string,
  algorithm: Algorithm,
): Lane<Decision> {
  return store.lane?.(prefix, algorithm) ?? function decideOne(key, cost, dry, now) {
    const stored = storedKeyIn(store, prefix, algorithm.id, key);
    const operation: Operation = { key: stored, algorithm, cost, dry };
    return andThen(store.run([operation], now), (decisions) => decisions[0]!);
  };
}
