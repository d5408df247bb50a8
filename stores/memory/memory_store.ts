/*
 * Keys in maps, states in flat arrays.
 *
 * Each limiter has a map of its own from key to slot, so that a call looks its key up as it was
 * given, without building the stored one. A slot's state lies in a Float64Array if the algorithm's
 * states are numbers, and in a plain array otherwise; nothing is allocated for a call but its
 * decision. All slots together are bounded by `maxKeys`, and an expiry queue knows which of them is
 * fresh first.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { checkInteger, checkOptions, errorMessage } from "../../core/options/checks.ts";
import type { Decision } from "../../core/decision.ts";
import { StoreFullError, StoreUnavailableError } from "../../core/errors.ts";
import { halvesOf } from "../../core/algorithms/halves_of.ts";
import type { Operation, PreparedCall, SyncStore } from "../../core/store.ts";
import { keyFamily, splitStoredKey } from "../../core/stored_key.ts";
import { transact, type Write } from "../../core/transact.ts";
import { BOUND, expiryQueue, FRESH_AT, STATE, WIDTH } from "./expiry_queue.ts";

/** The options of `memoryStore`. */
export interface MemoryStoreOptions {
  /** The most keys to hold; a positive integer, at most 2^30; default 1,000,000. */
  readonly maxKeys?: number | undefined;
  /**
   * What to do with a new key when all `maxKeys` hold use: `"evict"` (default) forgets the one
   * that would be fresh first, and counts it; `"throw"` throws a `StoreFullError`.
   */
  readonly onFull?: "evict" | "throw" | undefined;
}

/** What a memory store holds, and what it had to let go. */
export interface MemoryStoreStatistics {
  /** Keys held now; some of them may be fresh again. */
  readonly keys: number;
  /** The most keys it holds. */
  readonly maxKeys: number;
  /** Keys that were forgotten although they held use. */
  readonly evictions: number;
}

/** The store of one process. */
export interface MemoryStore extends SyncStore {
  /** What it holds now; constant time. */
  statistics(): MemoryStoreStatistics;
}

/**
 * For how many milliseconds a key that is fresh again stays while there is room: one that is called
 * now and then would otherwise be dropped and added anew at each call.
 */
const LINGER = 5_000;

/** All keys of one limiter. */
interface Table {
  /** What their stored keys have in common. */
  readonly family: string;
  readonly slots: Map<string, number>;
  readonly numeric: boolean;
}

/**
 * A store in the memory of one process: the store of a limiter that is given none.
 *
 * It never holds more than `maxKeys` keys, sets no timer, and drops keys that are fresh again as
 * others come; a key that holds use goes only when all of them do. Its time is `Date.now`. A key
 * takes some 100 to 150 bytes beside its own text. Limiters that share a store should share a
 * clock.
 *
 * A call takes constant time; a new key O(log n) for n keys held.
 *
 * @param options `maxKeys` and `onFull`, as above.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range.
 *
 * @example Two limits that share one bound on memory
 * ```ts
 * import { gcra, limiter, memoryStore } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const store = memoryStore({ maxKeys: 50_000 });
 * const reads = limiter(gcra({ limit: 100, period: "1m" }), { store, prefix: "reads" });
 * const writes = limiter(gcra({ limit: 10, period: "1m" }), { store, prefix: "writes" });
 * reads.consume("user:42");
 * writes.consume("user:42");
 * assert.equal(store.statistics().keys, 2);
 * ```
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  checkOptions("create memoryStore", options);
  const { maxKeys = 1_000_000, onFull = "evict" } = options;
  checkInteger("create memoryStore", "maxKeys", maxKeys, 1);
  if (maxKeys > 2 ** 30) {
    throw new RangeError(
      errorMessage("create memoryStore", "maxKeys must be at most 2^30", maxKeys),
    );
  }
  if (onFull !== "evict" && onFull !== "throw") {
    const rule = 'onFull must be "evict" or "throw"';
    throw new TypeError(errorMessage("create memoryStore", rule, onFull));
  }

  let capacity = Math.min(maxKeys, 64);
  const objects: unknown[] = [];
  const keys: (string | undefined)[] = [];
  const owners: Table[] = [];
  const freed: number[] = [];
  const queue = expiryQueue(capacity);
  const tables = new Map<string, Table>();
  /** When the next key may have been fresh for a while; an instant that is too early does no harm. */
  let sweepAt = Infinity;
  let evictions = 0;
  let closed = false;

  /** The limiter's table: the one that holds its keys, or one that is registered with the first. */
  function tableOf(family: string, algorithm: Algorithm): Table {
    const numeric = typeof algorithm.initial === "number" && algorithm.codec.maxWords === 1;
    return tables.get(family) ?? { family, slots: new Map(), numeric };
  }

  function stateIn(table: Table, slot: number): unknown {
    return table.numeric ? queue.cells[WIDTH * slot + STATE] : objects[slot];
  }

  /** Adds a key that was not held. */
  function add(table: Table, key: string, state: unknown, freshAt: number, now: number): void {
    const slot = freeSlot(now);
    tables.set(table.family, table);
    table.slots.set(key, slot);
    keys[slot] = key;
    owners[slot] = table;
    if (!table.numeric) {
      // Filled up to the slot, as an array with gaps would become a dictionary.
      while (objects.length <= slot) objects.push(undefined);
    }
    queue.add(slot, freshAt);
    if (freshAt + LINGER < sweepAt) sweepAt = freshAt + LINGER;
    replace(table, slot, state, freshAt, now);
  }

  /** Replaces the state of a key that is held. */
  function replace(
    table: Table,
    slot: number,
    state: unknown,
    freshAt: number,
    now: number,
  ): void {
    const { cells } = queue;
    const cell = WIDTH * slot;
    if (table.numeric) cells[cell + STATE] = state as number;
    else objects[slot] = state;
    cells[cell + FRESH_AT] = freshAt;
    if (freshAt < cells[cell + BOUND]!) queue.hasten(slot);
    if (now >= sweepAt) sweep(now);
  }

  /** Drops up to two keys that have been fresh for a while: more than one call can add. */
  function sweep(now: number): void {
    for (let dropped = 0; dropped < 2 && queue.dueAt() + LINGER <= now; dropped++) {
      const slot = queue.first();
      if (queue.freshAt(slot) + LINGER <= now) drop(slot);
    }
    sweepAt = queue.dueAt() + LINGER;
  }

  function drop(slot: number): void {
    const { family, slots } = owners[slot]!;
    slots.delete(keys[slot]!);
    if (slots.size === 0) tables.delete(family);
    keys[slot] = undefined;
    if (slot < objects.length) objects[slot] = undefined;
    queue.remove(slot);
    freed.push(slot);
  }

  /** A slot for a new key: one never used, or that of the key that is fresh first. */
  function freeSlot(now: number): number {
    makeRoom(now);
    const free = freed.pop() ?? queue.size();
    if (free === capacity) {
      capacity = Math.min(maxKeys, Math.ceil(capacity * 1.5));
      queue.grow(capacity);
    }
    return free;
  }

  /** Makes room for a new key. */
  function makeRoom(now: number): void {
    if (queue.size() < maxKeys) return;
    const slot = queue.first();
    if (queue.freshAt(slot) > now) {
      if (onFull === "throw") throw full(maxKeys);
      evictions++;
    }
    drop(slot);
  }

  /** Makes room for all that is to be written, of keys that are fresh; or throws before any is. */
  function requireRoom(writes: readonly Write[], now: number): void {
    const isNew = ({ key, algorithm, state }: Write) =>
      state !== algorithm.initial && find(key, algorithm).slot === undefined;
    while (queue.size() + writes.filter(isNew).length > maxKeys) {
      if (queue.size() === 0 || queue.freshAt(queue.first()) > now) throw full(maxKeys);
      drop(queue.first());
    }
  }

  function requireOpen(): void {
    if (closed) {
      throw new StoreUnavailableError("Cannot decide as the memoryStore must be open", "no");
    }
  }

  function find(stored: string, algorithm: Algorithm) {
    const { family, key } = splitStoredKey(stored);
    const table = tableOf(family, algorithm);
    return { table, key, slot: table.slots.get(key) };
  }

  function run(operations: readonly Operation[], at?: number): readonly Decision[] {
    requireOpen();
    const now = at ?? Date.now();
    const { decisions, writes } = transact(
      operations,
      (stored, algorithm) => {
        const { table, slot } = find(stored, algorithm);
        return slot === undefined ? undefined : stateIn(table, slot);
      },
      now,
    );
    if (onFull === "throw") requireRoom(writes, now);
    for (const { key: stored, algorithm, state, resetAfter } of writes) {
      const { table, key, slot } = find(stored, algorithm);
      if (state === algorithm.initial) {
        if (slot !== undefined) drop(slot);
      } else if (slot === undefined) add(table, key, state, now + resetAfter, now);
      else replace(table, slot, state, now + resetAfter, now);
    }
    return decisions;
  }

  function prepare(prefix: string, algorithm: Algorithm): PreparedCall<Decision> {
    const family = keyFamily(prefix, algorithm.id);
    const { initial } = algorithm;
    const { take, decide } = halvesOf(algorithm);
    let table = tableOf(family, algorithm);
    return function decideOne(key, cost, dry, at) {
      const now = at === undefined ? Date.now() : at;
      let slot = table.slots.get(key);
      if (slot === undefined) {
        requireOpen();
        // An empty table may have been let go, and another one opened for the same limiter.
        if (table.slots.size === 0) {
          table = tables.get(family) ?? table;
          slot = table.slots.get(key);
        }
      }
      const state = slot === undefined ? initial : stateIn(table, slot);
      const next = take(state, now, cost);
      const decision = decide(state, next, now, cost);
      if (next !== state && !dry) {
        if (slot === undefined) {
          if (next !== initial) add(table, key, next, now + decision.resetAfter, now);
        } else if (next === initial) drop(slot);
        else replace(table, slot, next, now + decision.resetAfter, now);
      }
      return decision;
    };
  }

  function forget(stored: string): void {
    const { family, key } = splitStoredKey(stored);
    const slot = tables.get(family)?.slots.get(key);
    if (slot !== undefined) drop(slot);
  }

  function close(): void {
    closed = true;
    for (const table of tables.values()) {
      for (const slot of table.slots.values()) drop(slot);
    }
  }

  return {
    run,
    internals: { prepare },
    accepts() {},
    delete: forget,
    close,
    [Symbol.asyncDispose]: () => Promise.resolve(close()),
    statistics: () => ({ keys: queue.size(), maxKeys, evictions }),
  };
}

function full(maxKeys: number): StoreFullError {
  return new StoreFullError(
    errorMessage("keep a new key", "memoryStore must hold fewer than maxKeys keys in use", maxKeys),
  );
}
