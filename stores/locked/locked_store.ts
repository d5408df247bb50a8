/*
 * A store in a database that is locked while it decides. Either each call is a transaction of its own,
 * and is answered at once, or all calls of a turn of the event loop share one, and are answered by
 * promises. Calls are stepped as in the optimistic engine (../stepping/step_calls.ts). Under the lock,
 * they need no guesses, and lose no races.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { closeNotice } from "../../core/close_notice.ts";
import { StoreUnavailableError } from "../../core/errors.ts";
import type { MaybePromise } from "../../core/maybe_promise.ts";
import { checkFunction, checkOptions } from "../../core/options/checks.ts";
import type { AsyncStore, StoreBase, SyncStore } from "../../core/store.ts";
import { driverKeyNamer } from "../driver_keys.ts";
import { deleteTexts, listTexts } from "../driver_texts.ts";
import { type Answer, namesOf } from "../stepping/call.ts";
import { failurePolicy } from "../stepping/failure_policy.ts";
import { storeCalls, type Submit } from "../stepping/families.ts";
import { callCommitter } from "./call_committer.ts";
import { LOCKED_OPTIONS, type LockedStoreOptions } from "./locked_options.ts";
import type { LockedTransaction } from "./locked_transaction.ts";
import { type LockedCall, lockedCounters } from "./transact_calls.ts";
import { turnQueue } from "./turn_queue.ts";

/** Counts of the work of a locked store. */
export interface LockedStoreStatistics {
  /** Calls that were decided. */
  readonly decisions: number;
  /** Transactions that decided them. */
  readonly batches: number;
  /** Keys that were written. */
  readonly writes: number;
  /** Calls that failed, or were answered by the failure policy. */
  readonly unavailable: number;
  /** Calls that came when `maxPending` calls waited already. */
  readonly overloaded: number;
  /** Values that were not states of their algorithm. */
  readonly unreadable: number;
}

/** The members of a locked store that other stores do not have. */
export interface LockedStoreExtras {
  /** Counts of its work; constant time. */
  statistics(): LockedStoreStatistics;
  /** Closes the store, for `using`. */
  [Symbol.dispose](): void;
}

/**
 * A store on a driver that locks its database. By default it answers at once.
 *
 * @param driver Reads and writes the database.
 * @param options As above.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range.
 *
 * @example A driver of a map
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { lockedStore, type LockedTransaction } from "tidegate/stores";
 * import assert from "node:assert/strict";
 *
 * const texts = new Map<string, string>();
 * const driver: LockedTransaction = {
 *   name: "The map",
 *   transact(keys, body) {
 *     const { writes, answer } = body(keys.map((key) => texts.get(key) ?? ""));
 *     for (const { key, next } of writes) {
 *       if (next === "") texts.delete(key);
 *       else texts.set(key, next);
 *     }
 *     return answer;
 *   },
 * };
 *
 * const api = limiter(gcra({ limit: 1, period: "1m", burst: 1 }), {
 *   store: lockedStore(driver),
 *   prefix: "api",
 * });
 * assert.deepEqual([api.consume("a").allowed, api.consume("a").allowed], [true, false]);
 * ```
 */
export function lockedStore(
  driver: LockedTransaction,
  options: LockedStoreOptions & { readonly batch: "turn" },
): AsyncStore & LockedStoreExtras;
/** A store of a driver that locks its database, and that answers at once. */
export function lockedStore(
  driver: LockedTransaction,
  options?: LockedStoreOptions & { readonly batch?: "call" | undefined },
): SyncStore & LockedStoreExtras;
/** A store of a driver that locks its database, where only the caller knows how it answers. */
export function lockedStore(
  driver: LockedTransaction,
  options?: LockedStoreOptions,
): (SyncStore | AsyncStore) & LockedStoreExtras;
export function lockedStore(
  driver: LockedTransaction,
  options: LockedStoreOptions = {},
): (SyncStore | AsyncStore) & LockedStoreExtras {
  checkOptions<LockedStoreOptions>("create lockedStore", options, LOCKED_OPTIONS);
  checkFunction("create lockedStore", "transact", driver?.transact);
  const { onUnavailable = "throw", batch = "call", maxPending = 10_000, onOverload = "throw" } =
    options;
  const counters = lockedCounters();
  const policy = failurePolicy(driver.name, { onUnavailable, onOverload, maxPending }, counters);
  const { onClose, announce } = closeNotice();
  const isLater = batch === "turn";
  let closed = false;
  const commit = callCommitter(driver, counters, policy);
  const queue = turnQueue(maxPending, commit);

  const submit: Submit = (space, key, at, bound, argument, several) => {
    const call: LockedCall = {
      space,
      key,
      at,
      bound,
      argument,
      several,
      cell: undefined,
      answer: undefined,
      failure: undefined,
    };
    // This throws at once for a key that cannot be stored.
    namesOf(call);
    if (isLater) return enqueue(call);
    requireOpen();
    commit([call]);
    if (call.failure !== undefined) throw call.failure;
    return call.answer;
  };

  function enqueue(call: LockedCall): Promise<Answer> {
    if (closed) return Promise.reject(closedError());
    return queue.push(call) ?? new Promise((resolve) => resolve(policy.overloaded(call)));
  }

  function requireOpen(): void {
    if (closed) throw closedError();
  }

  function closeNow(): void {
    if (closed) return;
    // Decide the calls that came before.
    queue.flush();
    closed = true;
    try {
      driver.close?.();
    } finally {
      announce();
    }
  }

  /** The answer of work, by a promise where calls are answered by promises. */
  const answered = <Value>(work: () => MaybePromise<Value>): MaybePromise<Value> =>
    isLater ? new Promise((resolve) => resolve(work())) : work();
  const close = () => answered(closeNow);
  const { open, run } = storeCalls({ namer: driverKeyNamer, submit });
  const store = {
    open,
    run: isLater ? async (...call: Parameters<typeof run>) => await run(...call) : run,
    ...(driver.deletePrefix !== undefined && {
      deleteAll: (prefix: string) =>
        answered(() => {
          requireOpen();
          return deleteTexts(driver, prefix);
        }),
    }),
    ...(driver.list !== undefined && {
      list(prefix: string, algorithm: Algorithm) {
        requireOpen();
        return listTexts(driver, prefix, algorithm);
      },
    }),
    onClose,
    close,
    [Symbol.asyncDispose]: async () => await close(),
    [Symbol.dispose]: closeNow,
    statistics: () => ({ ...counters }),
  };
  return store as unknown as StoreBase<"sync"> & LockedStoreExtras;
}

function closedError(): StoreUnavailableError {
  return new StoreUnavailableError("Cannot decide as the store must be open", "no");
}
