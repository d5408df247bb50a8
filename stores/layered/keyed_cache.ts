/*
 * What stores made of stores remember of keys. A limiter reads it by its own keys, so that a stored
 * key is built only when one is added; a reset names the stored key.
 */

import { storedKeyIn } from "../../core/limiter/prepare_call.ts";
import type { Store } from "../../core/store.ts";
import { keyFamily } from "../../core/stored_key.ts";

/** What is remembered of one limiter's keys. */
export interface LimiterKeys<Value> {
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
}

/** What is remembered of all keys: of at most so many, then a new one replaces the oldest. */
export interface KeyedCache<Value> {
  /** The keys of a prefix and an algorithm. */
  of(prefix: string, id: string): LimiterKeys<Value>;
  /** Forgets a stored key. */
  delete(stored: string): void;
  /** Forgets all keys. */
  clear(): void;
}

/** Makes an empty cache, for keys as `store` names them. */
export function keyedCache<Value>(store: Store, maxKeys: number): KeyedCache<Value> {
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
    clear() {
      for (const own of families.values()) own.clear();
      places.clear();
    },
  };
}
