/*
 * A bounded cache of values by key, for stores made of stores. Each family has a map of its own, so a
 * lookup uses the limiter's key unchanged. The bound is on all maps together.
 */

import { sizesOf } from "../../core/algorithms/sizes_of.ts";
import { andFinally, type MaybePromise } from "../../core/maybe_promise.ts";
import type { Family, FamilySpec } from "../../core/store.ts";
import { keyFamily } from "../../core/stored_key.ts";

/** The values of one family's keys. */
export interface FamilyCache<Value> {
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
}

/** The values of all keys. When there are too many, a new value replaces the oldest. */
export interface KeyedCache<Value> {
  /**
   * The values of a family. Every other family with its prefix and algorithm finds the same values,
   * unless its limits differ: a key has a value for the limits of its last one.
   */
  of(family: Family): FamilyCache<Value>;
  /** Forgets a key, also under its older options. */
  delete(spec: FamilySpec, key: string): void;
  /** Forgets all keys. */
  clear(): void;
}

/** The values of the keys of one prefix and algorithm. It is dropped once it is empty. */
interface Shelf<Value> {
  readonly name: string;
  readonly entries: Map<string, Entry<Value>>;
}

interface Entry<Value> {
  readonly shelf: Shelf<Value>;
  readonly key: string;
  /** The limits of the family that set the value. */
  sizes: string;
  value: Value;
}

/** Forgets, and again after a call, because other calls may have been under way. */
export function forgetAround<Value>(
  forget: () => void,
  call: () => MaybePromise<Value>,
): MaybePromise<Value> {
  forget();
  return andFinally(call, forget);
}

/** Makes an empty cache. */
export function keyedCache<Value>(maxKeys: number): KeyedCache<Value> {
  const shelves = new Map<string, Shelf<Value>>();
  const oldestFirst = new Set<Entry<Value>>();

  function shelfOf(name: string): Shelf<Value> {
    const shelf = shelves.get(name) ?? { name, entries: new Map() };
    shelves.set(name, shelf);
    return shelf;
  }

  function remove(entry: Entry<Value> | undefined): void {
    if (entry === undefined) return;
    const { shelf, key } = entry;
    oldestFirst.delete(entry);
    shelf.entries.delete(key);
    if (shelf.entries.size === 0) shelves.delete(shelf.name);
  }

  return {
    of({ spec: { prefix, algorithm } }) {
      const name = keyFamily(prefix, algorithm.id);
      const sizes = sizesOf(algorithm);
      return {
        get(key) {
          const known = shelves.get(name)?.entries.get(key);
          return known?.sizes === sizes ? known.value : undefined;
        },
        set(key, value) {
          const shelf = shelfOf(name);
          const known = shelf.entries.get(key);
          if (known !== undefined) {
            known.value = value;
            known.sizes = sizes;
            return;
          }
          const entry = { shelf, key, sizes, value };
          shelf.entries.set(key, entry);
          oldestFirst.add(entry);
          if (oldestFirst.size <= maxKeys) return;
          for (const oldest of oldestFirst) return remove(oldest);
        },
      };
    },
    delete({ prefix, algorithm, older }, key) {
      for (const { id } of [algorithm, ...older.map(({ algorithm }) => algorithm)]) {
        remove(shelves.get(keyFamily(prefix, id))?.entries.get(key));
      }
    },
    clear() {
      shelves.clear();
      oldestFirst.clear();
    },
  };
}
