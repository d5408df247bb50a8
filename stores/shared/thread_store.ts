/*
 * A store in shared memory, for the limiters of one thread.
 */

import { closeNotice } from "../../core/close_notice.ts";
import type { Algorithm } from "../../core/algorithm.ts";
import { checkInteger, checkNow, errorMessage } from "../../core/options/checks.ts";
import { requireWellFormed } from "../../core/options/well_formed.ts";
import type { Operation, RefundNotice, SyncStore } from "../../core/store.ts";
import { consume } from "../../core/verbs/consume.ts";
import { decideIn, enter, requireOpen, stepperOf } from "./decide.ts";
import type { OnEvict } from "./eviction_report.ts";
import { fingerprintFrom, fingerprints } from "./fingerprints.ts";
import { growCapacity, MAX_OPERATIONS, type Memory, NODE } from "./layout.ts";
import { nodesForOne } from "./allocator/nodes.ts";
import { runBatch } from "./operation_batch.ts";
import { type FamilyHost, sharedFamily, type SharedKeys } from "./shared_family.ts";
import { nodesOfState } from "./states/state_layout.ts";
import { type SharedStoreStatistics, statisticsOf, type StatisticsOptions } from "./statistics.ts";
import type { HashStart } from "./table/hash.ts";
import { removeKey } from "./table/table.ts";
import { openView } from "./thread_view.ts";
import { detachThread, unlock } from "./threads/thread.ts";

/**
 * The handle that a thread needs to attach to a store: a plain object that `postMessage`,
 * `workerData` and BroadcastChannel carry.
 */
export interface SharedStoreHandle {
  /** Marks the object as a handle. */
  readonly kind: "tidegate/shared";
  /** The memory of the store. */
  readonly buffer: SharedArrayBuffer;
}

/** A store in shared memory, as one thread sees it. */
export interface SharedStore extends SyncStore {
  /** The handle that another thread needs to attach to it. */
  readonly handle: SharedStoreHandle;
  /**
   * Lets the store hold that many keys, in all threads from their next new key on. It may be called
   * at any time, and takes one step: no key moves, and no key is forgotten. It does nothing if the
   * store holds as many keys already.
   *
   * @param capacity The most keys, a positive integer, at most the store's `maxCapacity`.
   * @throws {RangeError} If it is more.
   */
  grow(capacity: number): void;
  /** Closes the store in this thread, for `using`. */
  [Symbol.dispose](): void;
  /**
   * Figures of the store, in all threads together.
   *
   * @param options `full` to examine all keys, which is linear in the capacity, and the instant at
   * which to count live keys; a number stands for both.
   */
  statistics(options?: StatisticsOptions | number): SharedStoreStatistics;
}

/** Opens a store for the calling thread. */
export function openThreadStore(memory: Memory, onEvict?: OnEvict): SharedStore {
  const view = openView(memory, onEvict);
  const { thread, signals } = view;
  const decideOn = decideIn(view);
  const prints = fingerprints(
    memory.ints,
    // Call at the first of all instants, so that no limiter's key counts as fresh.
    ({ low, high }, algorithm, cost) =>
      decideOn(stepperOf(view, algorithm, consume, consume.on(algorithm)), low, high, cost, 0),
  );

  function startOf(name: string): HashStart {
    prints.renew();
    return prints.startOf(name);
  }

  function run(operations: readonly Operation[], at?: number): readonly unknown[] {
    requireOpen(thread);
    // A call that failed asks for nothing, to learn how the store answers.
    if (operations.length === 0) return [];
    return runBatch(view, operations, checkNow(at ?? view.time()));
  }

  function forget({ start }: SharedKeys, key: string): void {
    requireOpen(thread);
    requireWellFormed(key);
    const { low, high } = fingerprintFrom(start(), key);
    enter(view);
    try {
      while (view.scan(low, high, 0) !== 0 && !removeKey(view, view.found.slot, view.found.word));
    } finally {
      unlock(thread);
    }
    signals.signal(low);
  }

  function refundNotice({ start }: SharedKeys, key: string): RefundNotice {
    let notice;
    // Ask once more if the prefix was reset meanwhile, because the key then has another word.
    do notice = signals.notice(fingerprintFrom(start(), key).low); while (prints.renew());
    return notice;
  }

  const host: FamilyHost = { view, decideOn, startOf, run, forget, refundNotice };

  const { onClose, announce } = closeNotice();

  function close(): void {
    detachThread(thread);
    signals.close();
    view.evictions.close();
    announce();
  }

  const store: SharedStore & { readonly stays: typeof STAYS } = {
    handle: Object.freeze({ kind: "tidegate/shared", buffer: memory.buffer }),
    // This member comes before the first function, at which a copy would fail with the runtime's
    // message.
    stays: STAYS,
    open(spec) {
      requireNodes(memory, spec.algorithm);
      return sharedFamily(host, spec);
    },
    run,
    maxOperations: MAX_OPERATIONS,
    deleteAll(prefix) {
      requireOpen(thread);
      prints.forgetAll(prefix);
      signals.signalAll();
    },
    grow(capacity) {
      requireOpen(thread);
      checkInteger("grow the shared store", "capacity", capacity, 1, memory.maxCapacity);
      growCapacity(memory, capacity);
    },
    onClose,
    close,
    [Symbol.asyncDispose]: () => Promise.resolve(close()),
    [Symbol.dispose]: close,
    statistics: (options = {}) =>
      statisticsOf(
        memory,
        view.time,
        typeof options === "number" ? { full: true, now: options } : options,
      ),
  };
  return store;
}

/**
 * A member of a store that makes a copy for a message fail, with an error that says what to send. A
 * store stays in its thread.
 */
const STAYS = {
  get inItsThread(): never {
    const rule =
      "a store stays in its thread: send store.handle, and call attachSharedStore with it";
    throw new TypeError(`Cannot send a shared store to another thread because ${rule}`);
  },
  // JSON leaves functions out, and this as well.
  toJSON: () => undefined,
};

/** Throws a `RangeError` if the largest state of the algorithm does not fit even an empty arena. */
function requireNodes({ lastNode }: Memory, algorithm: Algorithm): void {
  const needed = nodesForOne(nodesOfState(algorithm));
  if (needed <= lastNode) return;
  const rule = `maxBytes must be at least ${4 * NODE * needed} for ${algorithm.id}`;
  throw new RangeError(errorMessage("keep states in the shared store", rule, 4 * NODE * lastNode));
}
