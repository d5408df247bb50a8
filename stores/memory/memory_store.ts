/*
 * The store of one process. A call looks its key up, takes the state that lies in the key's slot, and
 * puts the next one there; nothing is allocated for it but the decision.
 */

import type { Algorithm, ArrivalRate } from "../../core/algorithm.ts";
import { splitReducer } from "../../core/algorithms/split_reducer.ts";
import { checkChoice, checkInteger, checkOptions, rangeError } from "../../core/options/checks.ts";
import type { Decision } from "../../core/decision.ts";
import { StoreUnavailableError } from "../../core/errors.ts";
import type { Operation, PreparedCall, SyncStore } from "../../core/store.ts";
import { keyFamily, splitStoredKey } from "../../core/stored_key.ts";
import { transact, type Write } from "../../core/transact.ts";
import { freshInstant, USED_UP } from "../../core/arithmetic/fresh_instant.ts";
import { takeInPlace } from "../../core/arithmetic/whole_arrival_time.ts";
import { type ExpiryQueue, numberIn, WIDTH } from "./expiry_queue.ts";
import {
  addKey,
  dropSlot,
  keepNumber,
  keepState,
  makeRoom,
  openSlots,
  refreshLevel,
  type Slots,
  stateIn,
  sweep,
  tableOf,
} from "./slots.ts";
import { allSlots, isEmpty, slotOf, type Table } from "./table.ts";

/** The options of `memoryStore`. */
export interface MemoryStoreOptions {
  /** The most keys to hold; a positive integer, at most 2^30; default 1,000,000. */
  readonly maxKeys?: number | undefined;
  /**
   * What to do with a new key when all `maxKeys` hold use: `"evict"` (default) forgets the one with
   * the least share of its capacity in use, and counts it; `"throw"` throws a `StoreFullError`.
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
 * A store in the memory of one process: the store of a limiter that is given none.
 *
 * It never holds more than `maxKeys` keys, sets no timer, and drops keys that are fresh again as
 * others come. A key that holds use goes only when all of them do, and then one of those with the least
 * share of their capacity in use, to an eighth and as of their last calls. It looks for those that do not at a
 * few keys in each call, so that no call takes long: after a rush of calls on very many keys, a full
 * store may miss one that has just become fresh. Its time is `Date.now`. Limiters that share a store
 * should share a clock.
 *
 * Beside its own text, a key takes 100 to 180 bytes where its state is one number, as with `gcra`, and
 * 150 to 320 with a log of one entry; more on Bun than on V8, and more just after the store has grown.
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
  checkOptions<MemoryStoreOptions>("create memoryStore", options, { maxKeys: true, onFull: true });
  const { maxKeys = 1_000_000, onFull = "evict" } = options;
  checkInteger("create memoryStore", "maxKeys", maxKeys, 1);
  if (maxKeys > 2 ** 30) {
    throw rangeError("create memoryStore", "maxKeys must be at most 2^30", maxKeys);
  }
  checkChoice("create memoryStore", "onFull", onFull, ["evict", "throw"]);
  const slots = openSlots(maxKeys, onFull);

  function run(operations: readonly Operation[], at?: number): readonly Decision[] {
    requireOpen(slots);
    const now = at ?? Date.now();
    const { decisions, writes } = transact(
      operations,
      (key, of) => stateUnder(slots, key, of),
      now,
    );
    write(slots, writes, now);
    return decisions;
  }

  function close(): void {
    slots.closed = true;
    for (const table of slots.tables.values()) dropTable(slots, table);
  }

  return {
    run,
    internals: {
      prepare(prefix, algorithm) {
        const table = tableOf(slots, keyFamily(prefix, algorithm.id), algorithm);
        return memoryCall(slots, slots.queue, table, algorithm, algorithm.internals?.arrival);
      },
    },
    accepts() {},
    delete(stored) {
      const { family, key } = splitStoredKey(stored);
      const table = slots.tables.get(family);
      const slot = table && slotOf(table, key);
      if (slot !== undefined) dropSlot(slots, slot);
    },
    deleteAll(prefix) {
      const start = keyFamily(prefix, "");
      for (const [family, table] of slots.tables) {
        if (family.startsWith(start)) dropTable(slots, table);
      }
    },
    close,
    [Symbol.asyncDispose]: () => Promise.resolve(close()),
    statistics: () => ({ keys: slots.queue.size, maxKeys, evictions: slots.evictions }),
  };
}

/** Forgets all keys of a limiter. */
function dropTable(slots: Slots, table: Table): void {
  for (const slot of allSlots(table)) dropSlot(slots, slot);
}

function requireOpen({ closed }: Slots): void {
  if (!closed) return;
  throw new StoreUnavailableError("Cannot decide as the memoryStore must be open", "no");
}

/**
 * Single calls of one limiter. Those whose states are numbers have a function of their own, in which
 * engines keep the numbers in registers. So have calls that take units of a known key whose state is
 * an arrival time, as nearly all are: an engine inlines such a call whole, whatever the process does
 * beside it. V8 inlines 920 bytecodes at most, but no bound function; so the rest stands in one.
 */
function memoryCall(
  slots: Slots,
  queue: ExpiryQueue,
  table: Table,
  algorithm: Algorithm,
  rate: ArrivalRate | undefined,
): PreparedCall<Decision> {
  /** The slot of a key that the first map has not. */
  function findSlot(key: string): number | undefined {
    return table.slots.size > 0 && table.maps.length === 1 ? undefined : findFurther(key);
  }

  function findFurther(key: string): number | undefined {
    requireOpen(slots);
    // An empty table may have been let go, and another one opened for the same limiter.
    if (isEmpty(table)) table = slots.tables.get(table.family) ?? table;
    return slotOf(table, key);
  }

  const { initial } = algorithm;
  const { take, decide } = splitReducer(algorithm);
  if (!table.numeric) {
    return function decideOne(key, cost, dry, at) {
      const now = at === undefined ? Date.now() : at;
      const slot = table.slots.get(key) ?? findSlot(key);
      const state = slot === undefined ? initial : slots.objects[slot];
      const next = take(state, now, cost);
      const decision = decide(state, next, now, cost);
      if (next !== state && !dry) {
        const freshAt = freshInstant(now, decision, algorithm);
        keepState(slots, table, key, slot, next, initial, freshAt, now);
      }
      return decision;
    };
  }
  function decideNumber(
    key: string,
    cost: number,
    dry: boolean,
    at: number | undefined,
    first: number | undefined,
  ): Decision {
    const now = at === undefined ? Date.now() : +at;
    const slot = first ?? findSlot(key);
    const state = slot === undefined ? +(initial as number) : numberIn(queue, slot);
    const next = take(state, now, cost) as number;
    const decision = decide(state, next, now, cost);
    if (next === state || dry) return decision;
    const freshAt = freshInstant(now, decision, algorithm);
    if (slot === undefined) addKey(slots, table, key, next, freshAt, now);
    else if (next === initial) dropSlot(slots, slot);
    else keepNumber(slots, slot, next, freshAt, now);
    return decision;
  }
  const other = decideNumber.bind(undefined);
  const { use } = slots;
  const after = afterCall.bind(undefined, slots);
  return function takeUnits(key, cost, dry, at) {
    const slot = table.slots.get(key);
    if (rate === undefined || slot === undefined || cost <= 0) {
      return other(key, cost, dry, at, slot);
    }
    const now = at === undefined ? Date.now() : at;
    const decision = takeInPlace(rate, queue.cells, WIDTH * slot, now, cost, dry);
    const isUsedUp = use.levels[slot]! >= USED_UP;
    if (now >= slots.sweepAt || (decision.remaining === 0) !== isUsedUp) {
      after(slot, decision.allowed && !dry, now);
    }
    return decision;
  };
}

/** What is seldom left to do after a call that wrote at most a cell. */
function afterCall(slots: Slots, slot: number, writes: boolean, now: number): void {
  refreshLevel(slots, slot);
  if (writes && now >= slots.sweepAt) sweep(slots, now);
}

function find(slots: Slots, stored: string, algorithm: Algorithm) {
  const { family, key } = splitStoredKey(stored);
  const table = tableOf(slots, family, algorithm);
  return { table, key, slot: slotOf(table, key) };
}

function stateUnder(slots: Slots, stored: string, algorithm: Algorithm): unknown {
  const { table, slot } = find(slots, stored, algorithm);
  return slot === undefined ? undefined : stateIn(slots, table, slot);
}

/** Writes what a transaction came to. */
function write(slots: Slots, writes: readonly Write[], now: number): void {
  const isNew = ({ key, algorithm, state }: Write) =>
    state !== algorithm.initial && find(slots, key, algorithm).slot === undefined;
  if (slots.onFull === "throw") makeRoom(slots, () => writes.filter(isNew).length, now);
  for (const { key: stored, algorithm, state, decision } of writes) {
    const { table, key, slot } = find(slots, stored, algorithm);
    const freshAt = freshInstant(now, decision, algorithm);
    keepState(slots, table, key, slot, state, algorithm.initial, freshAt, now);
  }
}
