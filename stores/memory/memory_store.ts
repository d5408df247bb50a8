/*
 * The store of one process. A call looks up its key, reads the state in the key's slot, and writes the
 * next state there. Single calls are in `memory_family.ts`, several at once in `run_together.ts`.
 */

import { clockSteps, processTime } from "../process_time.ts";
import { closeNotice } from "../../core/close_notice.ts";
import {
  checkChoice,
  checkNow,
  checkOptions,
  integerFrom,
  typeError,
} from "../../core/options/checks.ts";
import type { FamilySpec, Operation, SyncStore } from "../../core/store.ts";
import { keyFamily } from "../../core/stored_key.ts";
import { defaultBytes } from "./default_bytes.ts";
import { memoryFamily } from "./memory_family.ts";
import { runTogether } from "./run_together.ts";
import { closeSlots, dropSlot, openSlots, requireOpen, SLOTS } from "./slots.ts";
import { noteProcessStore } from "./warn_of_processes.ts";

/** The options of `memoryStore`. */
export interface MemoryStoreOptions {
  /** The most keys to hold; a positive integer, at most 2^23; default 1,000,000. */
  readonly maxKeys?: number | undefined;
  /**
   * The most bytes of all keys and states together, at least 1,024. One key may take half of them; a
   * larger one is a `StoreFullError`. The bytes are estimates measured on V8, right to about a fifth.
   * Default: a quarter of the largest heap that the runtime reports, or 64 MiB if it reports none.
   */
  readonly maxBytes?: number | undefined;
  /**
   * The treatment of a new key when the store is full of keys that hold use. `"evict"` (default)
   * examines some keys, forgets those with the smallest share of their capacity in use, and counts
   * them. `"throw"` throws a `StoreFullError`.
   */
  readonly onFull?: "evict" | "throw" | undefined;
  /**
   * Whether each process is meant to have a limit of its own. Without it, a limiter on this store warns
   * once if its process is one of several: a worker of `node:cluster`, or an instance of PM2.
   */
  readonly perProcess?: boolean | undefined;
}

/** The contents of a memory store, and counts of the keys that it dropped. */
export interface MemoryStoreStatistics {
  /** Keys held now; some of them may be fresh again. */
  readonly keys: number;
  /** The most keys it holds. */
  readonly maxKeys: number;
  /** The bytes of these keys and their states, by the store's estimate. */
  readonly bytes: number;
  /** The most bytes it holds. */
  readonly maxBytes: number;
  /** Keys that were forgotten although they held use. */
  readonly evictions: number;
  /** States of a snapshot that were dropped because no algorithm of this process could read them. */
  readonly unreadable: number;
  /** How often this process has seen its wall clock step, back or forwards. */
  readonly clockSteps: number;
}

/** The store of one process. */
export interface MemoryStore extends SyncStore {
  /** Its contents now; constant time. */
  statistics(): MemoryStoreStatistics;
  /** Closes the store, for `using`. */
  [Symbol.dispose](): void;
}

/**
 * The most keys that a `Map` can hold, however many come and go. V8's map has at most 2^24 entries,
 * deleted entries included, and does not clear these away while more than half of its entries are in
 * use.
 */
const MOST_KEYS = 2 ** 23;

/**
 * A store in the memory of one process. A limiter without a `store` has one of its own.
 *
 * It never holds more than `maxKeys` keys or `maxBytes` bytes, and sets no timer: calls drop keys that
 * are fresh again. It drops a key that holds use only when it finds no fresh one. Each call looks at a
 * few keys only, so that no call takes long; but with `onFull: "throw"` it looks at all of them before
 * it throws. The store reads `Date.now`, and goes on when the wall clock is set back. Limiters that
 * share a store should share a clock.
 *
 * Beside its own text, a key takes 100 to 160 bytes if its state is one number, as with `gcra`, and
 * 230 to 300 with a log of one entry. It takes more on Bun than on V8, and more just after the store
 * has grown. A call takes constant time.
 *
 * @param options `maxKeys`, `maxBytes` and `onFull`, as above.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range.
 *
 * @example Two limits that share one bound on memory
 * ```ts
 * import { gcra, limiter, memoryStore } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const store = memoryStore({ maxKeys: 50_000 });
 * const reads = limiter(gcra({ limit: 100, period: "1m", burst: 100 }), { store, prefix: "reads" });
 * const writes = limiter(gcra({ limit: 10, period: "1m", burst: 10 }), { store, prefix: "writes" });
 * reads.consume("user:42");
 * writes.consume("user:42");
 * assert.equal(store.statistics().keys, 2);
 * ```
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  checkOptions<MemoryStoreOptions>("create memoryStore", options, {
    maxKeys: integerFrom(1, MOST_KEYS),
    maxBytes: integerFrom(1_024),
    onFull: true,
    perProcess: true,
  });
  const { maxKeys = 1_000_000, maxBytes = defaultBytes(), onFull = "evict", perProcess = false } =
    options;
  checkChoice("create memoryStore", "onFull", onFull, ["evict", "throw"]);
  if (typeof perProcess !== "boolean") {
    throw typeError("create memoryStore", "perProcess must be true or false", perProcess);
  }
  const slots = openSlots({ maxKeys, maxBytes, onFull });
  const { onClose, announce } = closeNotice();

  function close(): void {
    closeSlots(slots);
    announce();
  }

  const store = {
    [SLOTS]: () => slots,
    open: (spec: FamilySpec) => memoryFamily(slots, spec),
    run(operations: readonly Operation[], at?: number) {
      requireOpen(slots);
      const now = checkNow(at ?? processTime());
      return runTogether(slots, operations, now);
    },
    deleteAll(prefix: string) {
      requireOpen(slots);
      const start = keyFamily(prefix, "");
      for (const [family, table] of slots.tables) {
        if (!family.startsWith(start)) continue;
        for (const slot of table.slots.values()) dropSlot(slots, slot);
      }
    },
    onClose,
    close,
    [Symbol.asyncDispose]: () => Promise.resolve(close()),
    [Symbol.dispose]: close,
    statistics: () => ({
      keys: slots.size,
      maxKeys,
      bytes: slots.bytes,
      maxBytes,
      evictions: slots.evictions,
      unreadable: slots.unreadable,
      clockSteps: clockSteps(),
    }),
  };
  if (!perProcess) noteProcessStore(store);
  return store;
}
