/*
 * A store in shared memory as the limiters of one thread call it: what `shared_store.ts` hands out,
 * but for its handle.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import type { Decision } from "../../core/decision.ts";
import { checkCost, checkInteger, checkNow, errorMessage } from "../../core/options/checks.ts";
import type { Operation, PreparedCall, SyncStore, WatchedKey } from "../../core/store.ts";
import { keyFamily } from "../../core/stored_key.ts";
import { decideIn, enter, preparedCall, requireOpen, stepperOf } from "./decide.ts";
import type { OnEvict } from "./eviction_report.ts";
import { growCapacity, type Memory, MOST_OPERATIONS, NODE } from "./layout.ts";
import { nodesForOne } from "./memory/nodes.ts";
import { runBatch } from "./operation_batch.ts";
import { nodesOfState } from "./states/state_layout.ts";
import { type SharedStoreStatistics, statisticsOf, type StatisticsOptions } from "./statistics.ts";
import { forgetKey } from "./table/table.ts";
import {
  familyStart,
  fingerprintFrom,
  fingerprintOf,
  openView,
  renewFamilies,
} from "./thread_view.ts";
import { detachThread, unlock } from "./threads/thread.ts";

/** What a store in shared memory does, beside its handle. */
export interface ThreadStore extends SyncStore {
  readonly internals: SyncStore["internals"];
  /** Lets the store hold so many keys, if it does not hold as many yet. */
  grow(capacity: number): void;
  statistics(options?: StatisticsOptions | number): SharedStoreStatistics;
}

/** Opens a store for the calling thread. */
export function openThreadStore(memory: Memory, onEvict?: OnEvict): ThreadStore {
  const view = openView(memory, (view) => (name, algorithm, cost) => {
    const { low, high } = fingerprintFrom(view.start, name);
    // At the first of all instants: no limiter's key is taken for fresh.
    return decideOn(stepperOf(view, algorithm), low, high, cost, cost === 0, 0);
  }, onEvict);
  const decideOn = decideIn(view);

  function run(operations: readonly Operation[], at?: number): readonly Decision[] {
    requireOpen(view.thread);
    const now = checkNow(at ?? Date.now());
    for (const { cost } of operations) checkCost("run an operation", cost);
    renewFamilies(view);
    const [first] = operations;
    if (operations.length !== 1 || first === undefined || first.replaces !== undefined) {
      return runBatch(view, operations, now);
    }
    const { key, algorithm, cost, dry } = first;
    const { low, high } = fingerprintOf(view, key);
    return [decideOn(stepperOf(view, algorithm), low, high, cost, dry, now)];
  }

  function prepare(prefix: string, algorithm: Algorithm): PreparedCall<Decision> {
    return preparedCall(view, decideOn, stepperOf(view, algorithm), () => {
      renewFamilies(view);
      return familyStart(view, keyFamily(prefix, algorithm.id));
    });
  }

  function forget(stored: string): void {
    requireOpen(view.thread);
    renewFamilies(view);
    const { low, high } = fingerprintOf(view, stored);
    enter(view);
    try {
      while (view.scan(low, high, 0) !== 0 && !forgetKey(view.table));
    } finally {
      unlock(view.thread);
    }
    view.signals.signal(low);
  }

  function watch(stored: string): WatchedKey {
    let watched;
    // Once more if its prefix was reset meanwhile, as the key then has another word.
    do watched = view.signals.watch(fingerprintOf(view, stored).low); while (renewFamilies(view));
    return watched;
  }

  function close(): void {
    detachThread(view.thread);
    view.signals.close();
  }

  return {
    run,
    internals: { prepare, watch, mostOperations: MOST_OPERATIONS },
    accepts: (algorithm) => requireNodes(memory, algorithm),
    delete: forget,
    deleteAll(prefix) {
      requireOpen(view.thread);
      view.generations.raise(prefix);
      view.signals.signalAll();
    },
    grow(capacity) {
      requireOpen(view.thread);
      checkInteger("grow the shared store", "capacity", capacity, 1, memory.maxCapacity);
      growCapacity(memory, capacity);
    },
    close,
    [Symbol.asyncDispose]: () => Promise.resolve(close()),
    statistics: (options = {}) =>
      statisticsOf(memory, typeof options === "number" ? { full: true, now: options } : options),
  };
}

/** Throws a `RangeError` if the largest state of the algorithm fits no empty arena. */
function requireNodes({ lastNode }: Memory, algorithm: Algorithm): void {
  const needed = nodesForOne(nodesOfState(algorithm));
  if (needed <= lastNode) return;
  const rule = `maxBytes must be at least ${4 * NODE * needed} for ${algorithm.id}`;
  throw new RangeError(errorMessage("keep states in the shared store", rule, 4 * NODE * lastNode));
}
