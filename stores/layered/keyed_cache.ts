import type { SyncStore } from "../../core/store.ts";
import { keyFamily } from "../../core/stored_key.ts";
import { storedKeyIn } from "./prepared_call.ts";

/** What a lane knows of its own keys. */
export interface LimiterKeys<Value> {
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
}

/**
 * A map of stored keys, which a lane reads by its own keys: a stored key is made only when one is
 * added. It holds at most so many; a new one takes the place of the one added first.
 */
export interface KeyedCache<Value> {
  /** The keys of a prefix and an algorithm. */
  of(prefix: string, id: string): LimiterKeys<Value>;
  /** Removes a stored key. */
  delete(stored: string): void;
}

/** Makes an empty map, for keys as `store` names them. */
export function keyedCache<Value>(store: SyncStore, maxKeys: number): KeyedCache<Value> {
  const families = new Map<string, Map<string, Value>>();
  const places = new Map<string, { readonly own: Map<string, Value>; readonly key: string }>();

  function remove(stored: string): void {
    const place = places.get(stored);
    if (place === undefined) return;
    place.own.delete(place.key);
    places.delete(stored);
  }

  return {
    of(prefix, id) {
      const family = keyFamily(prefix, id);
      const own = families.get(family) ?? new Map<string, Value>();
      families.set(family, own);
      return {
        get: (key) => own.get(key),
        set(key, value) {
          own.set(key, value);
          places.set(storedKeyIn(store, prefix, id, key), { own, key });
          if (places.size <= maxKeys) return;
          for (const oldest of places.keys()) return remove(oldest);
        },
      };
    },
    delete: remove,
  };
}
