/*
 * A store in a database that is locked while it decides. Either each call is a transaction of its own,
 * and is answered at once, or all calls of a turn of the event loop share one, and are answered by
 * promises. In both cases the transaction is a batch of the optimistic engine (../optimistic/batch.ts).
 * Under the lock it needs no guesses, and loses no races.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { closeNotice } from "../../core/close_notice.ts";
import { StoreUnavailableError } from "../../core/errors.ts";
import type { MaybePromise } from "../../core/maybe_promise.ts";
import { checkCost, checkFunction, checkNow, checkOptions } from "../../core/options/checks.ts";
import type { AsyncStore, Operation, StoreBase, SyncStore } from "../../core/store.ts";
import { driverKeyNamer } from "../driver_keys.ts";
import { listTexts } from "../list_texts.ts";
import { failurePolicy } from "../optimistic/failure_policy.ts";
import { familyOpener, type StoredBound } from "../optimistic/families.ts";
import {
  type Answer,
  type Bound,
  type Job,
  newJob,
  type Several,
  type SpacedKey,
  type Turn,
} from "../optimistic/job.ts";
import { deleteKeys, jobCommitter } from "./job_committer.ts";
import { LOCKED_OPTIONS, type LockedStoreOptions } from "./locked_options.ts";
import type { LockedTransaction } from "./locked_transaction.ts";
import { lockedCounters } from "./transact_jobs.ts";
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

/** The turn of every call here. No time limit counts from its end. */
const TURN: Turn = { end: 0 };

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
  const { failJobs, refuseJob } = failurePolicy(
    driver.name,
    { onUnavailable, onOverload, maxPending },
    counters,
    () => RETRY_AFTER,
  );
  const { onClose, announce } = closeNotice();
  let closed = false;
  const commit = jobCommitter(driver, counters, failJobs);
  const queue = turnQueue(maxPending, (jobs) => {
    if (closed) failJobs(jobs, "no", closedError());
    else commit(jobs);
  });

  const submit: Submit = ({ space, key }, at, bound, argument, several) => {
    const now = at === undefined ? undefined : checkNow(at);
    // This throws at once for a key that cannot be stored.
    space.nameOf(key);
    several?.keys.forEach(({ space, key }) => space.nameOf(key));
    if (batch === "turn") {
      return new Promise((resolve, reject) =>
        enqueue(newJob(space, key, 0, now, bound, argument, several, TURN, resolve, reject))
      );
    }
    return answerOf((resolve, reject) => {
      if (closed) return reject(closedError());
      commit([newJob(space, key, 0, now, bound, argument, several, TURN, resolve, reject)]);
    });
  };

  function enqueue(job: Job): void {
    if (closed) return job.reject(closedError());
    if (!queue.push(job)) refuseJob(job);
  }

  function deleteNow(prefix: string): void {
    if (closed) throw closedError();
    deleteKeys(driver, prefix);
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
  const answered = <Value>(work: () => Value): MaybePromise<Value> =>
    batch === "turn" ? new Promise((resolve) => resolve(work())) : work();
  const close = () => answered(closeNow);
  const store = {
    ...callsBy(submit, batch === "turn"),
    ...(driver.deletePrefix !== undefined && {
      deleteAll: (prefix: string) => answered(() => deleteNow(prefix)),
    }),
    ...(driver.list !== undefined && {
      list(prefix: string, algorithm: Algorithm) {
        if (closed) throw closedError();
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

/** Milliseconds after which a call that a policy refused may come again. */
const RETRY_AFTER = 50;

/** Accepts a call: of one verb, of several operations, or with neither to forget the key. */
type Submit = (
  key: SpacedKey,
  at?: number,
  bound?: Bound,
  argument?: unknown,
  several?: Several,
) => MaybePromise<Answer>;

/** The members of a store that make calls. They answer by promises, or at once, as `submit` does. */
function callsBy(submit: Submit, isLater: boolean) {
  function forget(keys: readonly SpacedKey[]): MaybePromise<void> {
    const gone = keys.map((key) => submit(key));
    return isLater ? Promise.all(gone).then(() => {}) : undefined;
  }

  function submitParts(
    parts: Several["parts"],
    at: number | undefined,
    isSingle: boolean,
  ): MaybePromise<Answer> {
    const keys = parts.flatMap((part): readonly SpacedKey[] => [part, ...part.older]);
    return submit(keys[0]!, at, undefined, undefined, { parts, keys, isSingle });
  }

  const open = familyOpener({
    namer: driverKeyNamer,
    submit: (space, key, at, bound, argument) =>
      submit({ space, key }, at, bound, argument) as Promise<Answer>,
    submitParts: (parts, at, isSingle) => submitParts(parts, at, isSingle) as Promise<Answer>,
    forget: (keys) => forget(keys) as Promise<void>,
  });

  function run(operations: readonly Operation[], at?: number): MaybePromise<readonly unknown[]> {
    if (operations.length === 0) return isLater ? Promise.resolve([]) : [];
    const parts = operations.map(({ bound, key, argument }) => {
      checkCost(bound.verb.name, bound.verb.units(argument), 0);
      return (bound as StoredBound).part(key, argument);
    });
    return submitParts(parts, at, false) as MaybePromise<readonly unknown[]>;
  }

  return { open, run };
}

/** Returns the value that is resolved at once, or throws the error that is rejected. */
function answerOf(
  run: (resolve: (answer: Answer) => void, reject: (error: Error) => void) => void,
): Answer {
  let answer: Answer;
  let failure: { readonly error: Error } | undefined;
  run((value) => answer = value, (error) => failure = { error });
  if (failure !== undefined) throw (failure as { readonly error: Error }).error;
  return answer;
}

function closedError(): StoreUnavailableError {
  return new StoreUnavailableError("Cannot decide as the store must be open", "no");
}
