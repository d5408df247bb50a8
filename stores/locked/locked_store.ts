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
import { DriverError } from "../driver.ts";
import { driverKeyNamer, keyBeginning } from "../driver_keys.ts";
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
import { LOCKED_OPTIONS, type LockedStoreOptions } from "./locked_options.ts";
import type { LockedTransaction } from "./locked_transaction.ts";
import { lockedCounters, transactJobs } from "./transact_jobs.ts";
import { setImmediate } from "../own_timers.ts";

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

/** The most calls of a transaction. It is bounded because other processes wait for its end. */
const MOST_CALLS = 1_000;
/** Keys that are written between two sweeps, which look for keys to delete. */
const SWEEP_AFTER = 128;
/** Keys that a sweep examines. It has seen all keys after half as many writes as there are keys. */
const SWEEP_KEYS = 256;
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
  let written = 0;
  let queue: Job[] = [];

  /** Decides calls in one transaction, and answers them. */
  function commit(jobs: readonly Job[]): void {
    try {
      const { decided, writes } = transactJobs(driver, jobs, counters);
      counters.batches++;
      counters.decisions += decided.length;
      for (const job of decided) settle(job);
      if (writes > 0) tidy(writes);
    } catch (error) {
      const { applied, scope } = error instanceof DriverError ? error : UNKNOWN_FAILURE;
      if (scope === "call" && applied === "no" && jobs.length > 1) {
        // One of the calls may be at fault, so try each alone.
        for (const job of jobs) commit([job]);
      } else failJobs(jobs, applied, error as Error);
    }
  }

  function tidy(writes: number): void {
    counters.writes += writes;
    written += writes;
    if (driver.sweep === undefined || written < SWEEP_AFTER) return;
    written = 0;
    try {
      driver.sweep(SWEEP_KEYS);
    } catch {
      // Ignore a failed sweep: the calls were decided, and the next sweep comes soon.
    }
  }

  /** Accepts a call: of one verb, of several operations, or with neither to forget the key. */
  function submit(
    { space, key }: SpacedKey,
    at: number | undefined,
    bound: Bound | undefined,
    argument: unknown,
    several: Several | undefined,
  ): MaybePromise<Answer> {
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
  }

  function enqueue(job: Job): void {
    if (closed) return job.reject(closedError());
    if (queue.length >= maxPending) return refuseJob(job);
    if (queue.push(job) === 1) setImmediate(flush);
  }

  function flush(): void {
    const jobs = queue;
    queue = [];
    if (closed) return failJobs(jobs, "no", closedError());
    for (let start = 0; start < jobs.length; start += MOST_CALLS) {
      commit(jobs.length <= MOST_CALLS ? jobs : jobs.slice(start, start + MOST_CALLS));
    }
  }

  const forget = (keys: readonly SpacedKey[]) => {
    const gone = keys.map((key) => submit(key, undefined, undefined, undefined, undefined));
    return batch === "turn" ? Promise.all(gone).then(() => {}) : undefined;
  };

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
      submit({ space, key }, at, bound, argument, undefined) as Promise<Answer>,
    submitParts: (parts, at, isSingle) => submitParts(parts, at, isSingle) as Promise<Answer>,
    forget: (keys) => forget(keys) as Promise<void>,
  });

  function run(operations: readonly Operation[], at?: number): MaybePromise<readonly unknown[]> {
    if (operations.length === 0) return batch === "turn" ? Promise.resolve([]) : [];
    const parts = operations.map(({ bound, key, argument }) => {
      checkCost(bound.verb.name, bound.verb.units(argument), 0);
      return (bound as StoredBound).part(key, argument);
    });
    return submitParts(parts, at, false) as MaybePromise<readonly unknown[]>;
  }

  function deleteNow(prefix: string): void {
    answerOf((resolve, reject) => {
      if (closed) return reject(closedError());
      try {
        resolve(driver.deletePrefix!(keyBeginning(prefix)));
      } catch (error) {
        const { applied, rule } = error instanceof DriverError ? error : UNKNOWN_FAILURE;
        reject(
          new StoreUnavailableError(
            `Cannot delete the keys of a prefix as ${driver.name} must ${rule}`,
            applied,
            { cause: error },
          ),
        );
      }
    });
  }

  function deleteAll(prefix: string): MaybePromise<void> {
    if (batch !== "turn") return deleteNow(prefix);
    return new Promise((resolve) => resolve(deleteNow(prefix)));
  }

  function closeNow(): void {
    if (!closed) {
      // Decide the calls that came before.
      if (queue.length > 0) flush();
      closed = true;
      try {
        driver.close?.();
      } finally {
        announce();
      }
    }
  }

  function close(): MaybePromise<void> {
    if (batch !== "turn") return closeNow();
    return new Promise((resolve) => resolve(closeNow()));
  }

  const store = {
    open,
    run,
    ...(driver.deletePrefix !== undefined && { deleteAll }),
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
const UNKNOWN_FAILURE = { applied: "unknown", scope: "server", rule: "answer" } as const;

function settle(job: Job): void {
  job.settled = true;
  job.resolve(job.answer);
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
