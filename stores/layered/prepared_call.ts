import type { Algorithm } from "../../core/algorithm.ts";
import type { Decision } from "../../core/decision.ts";
import type { Operation, PreparedCall, SyncStore } from "../../core/store.ts";
import { storedKey } from "../../core/stored_key.ts";
import { andThen } from "./maybe_promise.ts";

/** How a store names a key. */
export function storedKeyIn(store: SyncStore, prefix: string, id: string, key: string): string {
  return store.internals?.keyOf?.(prefix, id, key) ?? storedKey(prefix, id, key);
}

/** The store's way for single operations, or one made of `run`. */
export function preparedCall(
  store: SyncStore,
  prefix: string,
  algorithm: Algorithm,
): PreparedCall<Decision> {
  return store.internals?.prepare?.(prefix, algorithm) ?? function decideOne(key, cost, dry, now) {
    const stored = storedKeyIn(store, prefix, algorithm.id, key);
    const operation: Operation = { key: stored, algorithm, cost, dry };
    return andThen(store.run([operation], now), (decisions) => decisions[0]!);
  };
}
