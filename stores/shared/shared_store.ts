/**
 * tidegate/shared: one store for all worker threads of a Bun, Deno or Node server. A limit on it is
 * exact across threads, survives a thread that is killed, and answers at once in every thread.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { attachSharedStore, sharedStore } from "tidegate/shared";
 * import assert from "node:assert/strict";
 *
 * const store = sharedStore({ capacity: 10_000 });
 * // In a worker: const store = attachSharedStore(workerData.store);
 * const other = attachSharedStore(structuredClone(store.handle));
 *
 * const algorithm = gcra({ limit: 2, period: "1m", burst: 2 });
 * const here = limiter(algorithm, { store, prefix: "api" });
 * const there = limiter(algorithm, { store: other, prefix: "api" });
 * assert.equal(here.consume("user:42").remaining, 1);
 * assert.equal(there.consume("user:42").remaining, 0);
 * ```
 *
 * @module
 */

import {
  checkChoice,
  checkFunction,
  checkInteger,
  checkOptions,
  errorMessage,
  rangeError,
} from "../../core/options/checks.ts";
import type { Algorithm } from "../../core/algorithm.ts";
import type { OnEvict } from "./eviction_report.ts";
import { attachMemory, bucketsFor, byteLengthOf, createMemory, SAME_PROCESS } from "./layout.ts";
import { nodesForAll, nodesForOne } from "./allocator/nodes.ts";
import { nodesOfState } from "./states/state_layout.ts";
import { openThreadStore, type SharedStore, type SharedStoreHandle } from "./thread_store.ts";

export type { Evictions, OnEvict } from "./eviction_report.ts";
export type { SharedStoreStatistics, StatisticsOptions } from "./statistics.ts";
export type { SharedStore, SharedStoreHandle } from "./thread_store.ts";

/** The options of `sharedStore`. */
export interface SharedStoreOptions {
  /** The most keys to hold; a positive integer, at most 16,000,000. */
  readonly capacity: number;
  /**
   * The most that `grow` may raise `capacity` to: at most 16,000,000; default `capacity`. It reserves
   * room for that many keys, which takes memory only as it is used, and a table of 16 to 32 bytes a
   * key.
   */
  readonly maxCapacity?: number | undefined;
  /**
   * The algorithms of the limiters that will use the store. They give `maxBytes` a default with which
   * `maxCapacity` keys fit, even if all are of the algorithm with the largest states.
   */
  readonly for?: readonly Algorithm[] | undefined;
  /**
   * The most bytes of the arena for windows, logs and long states, in pieces of 128; at most 2 GB; 0
   * for no arena. It takes memory only as it fills. With `for`, the default is enough for these
   * algorithms, and for 32 bytes a key of states as text. Without it the default is 64 MB, or 256
   * bytes a key of `maxCapacity` if that is more.
   */
  readonly maxBytes?: number | undefined;
  /**
   * The treatment of a new key when every place is in use. `"evict"` (default) examines some keys,
   * forgets the key that gives away the smallest share of its capacity (among equals, chance
   * decides), and counts it. `"throw"` throws a `StoreFullError`.
   */
  readonly onFull?: "evict" | "throw" | undefined;
  /**
   * The most threads that are attached at once; a positive integer, at most 4,096; default 1,024.
   * Threads that were killed in the middle of a call count as well. If there are more threads, they
   * take turns: a call may wait for some 60 ms, or throw a `StoreFullError`.
   */
  readonly threads?: number | undefined;
  /**
   * Receives the number of keys that this thread forgot although they were in use, at most once a
   * second.
   */
  readonly onEvict?: OnEvict | undefined;
}

/** The options of `attachSharedStore`. */
export interface AttachOptions {
  /**
   * Receives the counts of keys that this thread forgot although they were in use, at most once a
   * second.
   */
  readonly onEvict?: OnEvict | undefined;
}

/**
 * Where a hot reload finds the memory of kept stores again: on the global object, because all modules
 * run anew. All copies of this module in a process use the same map.
 */
const KEPT = Symbol.for("tidegate/shared: kept stores");
const MAX_KEYS = 16_000_000;
const MAX_NODES = 2 ** 24 - 1;
const BYTES_PER_NODE = 128;
/** The part of an arena for states that are kept as text. Few keys have such states at a time. */
const TEXT_BYTES_PER_KEY = 32;
const TEXT_BYTES = 2 ** 16;

/**
 * Makes a store in shared memory, for this thread and all threads that attach to it.
 *
 * No call waits for another thread as long as there are at most `threads` threads. A call prepares
 * the next state in a block of its own, and swaps it in by one compare-and-swap. A thread may be
 * stopped or killed at any instant. The others then go on at once, and a key holds either the state
 * before the call or the state after it.
 *
 * A key whose state is one number takes 48 to 64 bytes. The store reserves all pages at once, and
 * they take memory when they are first used. A call takes constant time beyond the time of its
 * algorithm.
 *
 * @param options `capacity` and more, as above.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range.
 */
export function sharedStore(options: SharedStoreOptions): SharedStore {
  const action = "create sharedStore";
  checkOptions<SharedStoreOptions>(action, options, {
    capacity: true,
    maxCapacity: true,
    for: true,
    maxBytes: true,
    onFull: true,
    threads: true,
    onEvict: checkFunction,
  });
  const { capacity, maxCapacity = capacity, for: algorithms, onFull = "evict" } = options;
  const { threads = 1_024, onEvict } = options;
  checkInteger(action, "capacity", capacity, 1, MAX_KEYS);
  checkInteger(action, "maxCapacity", maxCapacity, capacity, MAX_KEYS);
  checkInteger(action, "threads", threads, 1, 4_096);
  checkChoice(action, "onFull", onFull, ["evict", "throw"]);
  const most = MAX_NODES * BYTES_PER_NODE;
  const needed = algorithms && bytesFor(action, algorithms, maxCapacity, threads);
  if (needed !== undefined) {
    checkMost(action, "the bytes that capacity and for need", needed, most);
  }
  const texts = Math.max(TEXT_BYTES, TEXT_BYTES_PER_KEY * maxCapacity);
  const enough = needed === undefined ? undefined : Math.min(most, needed + texts);
  const { maxBytes = enough ?? Math.min(most, Math.max(2 ** 26, maxCapacity * 256)) } = options;
  checkInteger(action, "maxBytes", maxBytes, needed ?? 0, most);
  const nodes = Math.floor(maxBytes / BYTES_PER_NODE);
  const buckets = bucketsFor(maxCapacity, needed !== undefined);
  const sizes = { capacity, maxCapacity, buckets, threads, nodes };
  // Offsets are 32-bit numbers of 4-byte words.
  const together = "capacity and maxBytes together, in bytes,";
  checkMost(action, together, byteLengthOf(sizes), 2 ** 32);
  return openThreadStore(createMemory(sizes, onFull === "throw"), onEvict);
}

/** Requires that the bytes that follow from several options are at most as many as there can be. */
function checkMost(action: string, what: string, bytes: number, most: number): void {
  if (bytes <= most) return;
  throw rangeError(action, `${what} must be at most ${most}`, bytes);
}

/** The bytes of an arena in which that many keys of any of these algorithms fit. */
function bytesFor(
  action: string,
  algorithms: readonly Algorithm[],
  capacity: number,
  threads: number,
): number {
  if (!Array.isArray(algorithms)) {
    throw new TypeError(errorMessage(action, "for must be a list of algorithms", algorithms));
  }
  const nodes = Math.max(0, ...algorithms.map(nodesOfState));
  return BYTES_PER_NODE * Math.max(nodesForOne(nodes), nodesForAll(capacity, nodes, threads));
}

/**
 * Attaches the calling thread to a store that another one made.
 *
 * A thread attaches once, and closes the store when it is done. A thread that is killed need not
 * close it. Limiters of the same prefix and algorithm share their keys across threads.
 *
 * @param handle The `handle` of the store, received in a message.
 * @param options `onEvict`, as for `sharedStore`.
 * @throws {TypeError} If it is no handle.
 * @throws {RangeError} If its buffer does not belong to a shared store, has another version of the
 * layout, or is not whole: the error says what was found and what was expected.
 * @throws {StoreFullError} If as many threads as the store allows are in the middle of a call, or
 * died in one. A call throws it, too, if its thread was idle and has lost its place to another.
 */
export function attachSharedStore(
  handle: SharedStoreHandle,
  options: AttachOptions = {},
): SharedStore {
  const action = "attach a shared store";
  checkOptions<SharedStoreHandle>(action, handle, { kind: true, buffer: true });
  checkOptions<AttachOptions>(action, options, { onEvict: checkFunction });
  if (handle.kind !== "tidegate/shared") {
    const rule = `the kind of its handle must be "tidegate/shared"; ${SAME_PROCESS}`;
    throw new TypeError(errorMessage(action, rule, handle.kind));
  }
  return openThreadStore(attachMemory(handle.buffer), options.onEvict);
}

/**
 * A shared store that outlives a hot reload: the first call of a process makes it, and later calls
 * with the same name attach to it. So a file that is saved does not give every client a fresh limit.
 * `node --watch` and `deno --watch` start a new process instead, and so does a deploy.
 *
 * @param name The name of the store in this process. Each store needs a name of its own.
 * @param options As for `sharedStore`. Those that size the memory are used by the first call alone:
 * restart the process to change them.
 * @throws {TypeError} If the name is no text, or is empty, or an option is of the wrong type.
 * @throws {RangeError} If an option is out of range.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { keptSharedStore } from "tidegate/shared";
 * import assert from "node:assert/strict";
 *
 * const remaining = () => { // what a module does each time that it is loaded
 *   const store = keptSharedStore("limits", { capacity: 10_000 });
 *   const policy = gcra({ limit: 5, period: "1m", burst: 5 });
 *   return limiter(policy, { store, prefix: "api" }).consume("user:42").remaining;
 * };
 * assert.equal(remaining(), 4);
 * assert.equal(remaining(), 3);
 * ```
 */
export function keptSharedStore(name: string, options: SharedStoreOptions): SharedStore {
  if (typeof name !== "string" || name === "") {
    throw new TypeError(errorMessage("keep a shared store", "its name must be text", name));
  }
  const handles = keptHandles();
  const handle = handles.get(name);
  if (handle !== undefined) return attachSharedStore(handle, { onEvict: options.onEvict });
  const store = sharedStore(options);
  handles.set(name, store.handle);
  return store;
}

function keptHandles(): Map<string, SharedStoreHandle> {
  const place = globalThis as { [KEPT]?: Map<string, SharedStoreHandle> };
  return place[KEPT] ??= new Map();
}
