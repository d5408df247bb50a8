/*
 * The limiter that callers hold: it checks arguments, reads the clock, runs the store and reports
 * the verdict. It is written once for stores that answer at once and for those that answer by promises.
 */

import type { Algorithm } from "../algorithm.ts";
import { acquire, type Acquired, type AcquireOptions, acquireOrUndo } from "./acquire.ts";
import { andFinally, andThen, isPromise, type MaybePromise } from "../maybe_promise.ts";
import { checkCost, checkNow, checkText, typeError } from "../options/checks.ts";
import { type Clock, passingTime, timerOf } from "../clock.ts";
import type { Decision } from "../decision.ts";
import { failureReport, guarded } from "../guarded.ts";
import { holdsPermits, requireNoPermits } from "../algorithms/holds_permits.ts";
import type { PermitDesk, PermitLimiter } from "./permit_desk.ts";
import type { QueueLimiter, WaitingQueues } from "./waiting_queue.ts";
import type {
  AsyncStore,
  BoundVerb,
  OlderOptions,
  Store,
  StoreBase,
  SyncStore,
  Verb,
} from "../store.ts";
import { keyFamily } from "../stored_key.ts";
import { charge } from "../verbs/charge.ts";
import { consume } from "../verbs/consume.ts";
import { peek } from "../verbs/peek.ts";
import { refund } from "../verbs/refund.ts";
import { takeBackable } from "../verbs/reserve.ts";
import type { BlockNote, BlockOptions } from "./block_key.ts";
import { blockDesk, permitDesk } from "./desks.ts";
import type { Period } from "../options/period.ts";
import { endQueues } from "./end_queues.ts";
import { failingOn, failOn } from "./fail_on.ts";
import { newPermitId } from "./permit_ids.ts";
import type { Counter } from "../together/ask.ts";
import { undoOf } from "../together/undo.ts";
import { givingBack } from "../verbs/settle.ts";
import { wakeQueue } from "./wait_in_queue.ts";

/** The options of a limiter, whatever its store. */
export interface LimiterOptions {
  /**
   * The beginning of the limiter's keys in the store. Required with a store, because the commonest
   * fault is that two limiters share counters by accident.
   */
  readonly prefix?: string | undefined;
  /** The source of `now`; default is the store's own time. */
  readonly clock?: Clock | undefined;
  /**
   * Called with every verdict that a caller receives, except from `peek`; for metrics. It may be
   * asynchronous, because no call waits for it. Its failure changes no verdict, and goes to
   * `onFailure`.
   */
  readonly onDecision?:
    | ((decision: Decision, key: string, cost: number) => void)
    | undefined;
  /** Called after a `block` or an `unblock`, with the decision after it; for audit logs. */
  readonly onBlock?:
    | ((decision: Decision, key: string, note: BlockNote) => void)
    | undefined;
  /**
   * Called with an error that `onDecision` or `onBlock` threw or rejected with, and the key of the
   * call. By default the first failure is printed.
   */
  readonly onFailure?: ((error: unknown, key: string) => void) | undefined;
  /**
   * The older options that this limiter's options replace, so that a changed limit forgets nothing;
   * or a list of older options, the newest first. Options that equal the limiter's own are left
   * out.
   */
  readonly replaces?: OlderOptions | readonly OlderOptions[] | undefined;
  /** The most callers that may wait in `acquire`; a positive integer; default 10,000. */
  readonly maxWaiting?: number | undefined;
}

/** The options of a limiter on a given store. */
export interface StoreLimiterOptions extends LimiterOptions {
  /** The store, of either kind. */
  readonly store: Store;
  /** The beginning of the limiter's keys in the store. */
  readonly prefix: string;
}

/**
 * The options of a limiter on a store that answers at once. Without a store the limiter has a
 * memory store of its own.
 */
export type SyncLimiterOptions =
  | LimiterOptions & { readonly store?: undefined }
  | StoreLimiterOptions & { readonly store: SyncStore };

/** The options of a limiter on a store that answers by promises. */
export interface AsyncLimiterOptions extends StoreLimiterOptions {
  /** The store. */
  readonly store: AsyncStore;
}

/** The members that limiters on stores of both kinds have in common. */
export interface LimiterBase<Answer, Done, OfStore extends Store> {
  /** The algorithm, as given. */
  readonly algorithm: Algorithm;
  /** The store, as given, or the limiter's own. */
  readonly store: OfStore;
  /** The beginning of the limiter's keys in the store. */
  readonly prefix: string;
  /**
   * Decides and takes.
   *
   * @param key The key whose units are taken: a non-empty string.
   * @param cost Units to take, an integer of at least 0; default 1. 0 looks, and takes nothing.
   * @throws {TypeError} If the key is not a non-empty string, or the cost is not a number.
   * @throws {RangeError} If the cost is not an integer of at least 0.
   */
  consume(key: string, cost?: number): Answer;
  /** Answers as `consume` would, and changes nothing. The balance is `peek(key, 0)`. */
  peek(key: string, cost?: number): Answer;
  /**
   * Gives back units that were just taken, the newest first: an integer of at least 1; default 1.
   * `refund` removes whatever units the key holds by then. Later on, these may belong to other calls,
   * and then more than the limit is admitted: use `reservable`, `reserve` and `settle` instead.
   *
   * @throws {TypeError} If the algorithm is `reservable`: its units go back by receipts.
   */
  refund(key: string, cost?: number): Answer;
  /**
   * Takes the units that were really used, beyond the limit if need be: for a cost that is known
   * only afterwards, such as the tokens of an answer. It is always allowed. If it takes more than
   * was free, the key is in debt (`decision.debt`), and nothing is admitted until the debt has
   * drained. One charge has the same effect as several charges of the same sum; `refund` gives
   * charged units back.
   *
   * @param key The key whose units are taken: a non-empty string.
   * @param cost Units that were used, an integer of at least 0; default 1.
   * @returns The balance after the charge. A key's debt has a bound that its algorithm states.
   * @throws {TypeError} If the key is not a non-empty string, or the cost is not a number.
   * @throws {RangeError} If the cost is not an integer of at least 0.
   */
  charge(key: string, cost?: number): Answer;
  /**
   * Blocks a key by hand: for `duration` from now on, every call that takes units of the key is
   * refused, and writes nothing. A longer block replaces a shorter block; a shorter block changes
   * nothing. The algorithm must be `blockable(...)`, or an `all` with such a part.
   *
   * @param key The key to block: a non-empty string.
   * @param duration How long to block it: whole milliseconds, or text such as `"1h"`.
   * @param options `reason`, for `onBlock`: text of at most 200 characters. It is not stored.
   * @returns The balance: `remaining` is 0, and `nextAfter` counts to the next admission.
   * @throws {TypeError} If the key is not a non-empty string, or keys of the algorithm cannot be
   *   blocked.
   * @throws {RangeError} If the duration is out of range, or the reason is too long.
   */
  block(key: string, duration: Period, options?: BlockOptions): Answer;
  /**
   * Ends a block that was made by hand. The key is then as if it had never been blocked: earlier
   * use counts unless it has ended meanwhile. A lock of `lockout` stays: `reset` ends locks, too.
   *
   * @throws {TypeError} If the key is not a non-empty string, or keys of the algorithm cannot be
   *   blocked.
   */
  unblock(key: string): Answer;
  /** Forgets the key, its block included. */
  reset(key: string): Done;
  /**
   * Forgets every key under the limiter's prefix, whatever its algorithm. This includes keys of
   * other limiters with the same prefix on the same store, and keys of options that this limiter
   * had before. Longer prefixes that begin with this prefix are left alone.
   *
   * Calls that run at the same time may count as before it or after it. In memory it takes time
   * linear in the keys of the prefix. In Redis it takes time linear in all keys of the database, a
   * thousand at a time.
   *
   * @throws {TypeError} If the store has no `deleteAll`.
   */
  resetAll(): Done;
  /**
   * Waits its turn, then takes, then waits out the decision's `delay`.
   *
   * Each key in the thread is first come, first served: only the first caller tries, nothing is
   * taken for callers that wait, and small costs do not overtake a large one. `refund` and `reset`
   * wake the first caller; on the shared store, calls in other threads wake it as well. An abort
   * while queueing charges nothing; in the delay of a `leakyQueue` only the newest place is given
   * back.
   *
   * A cost of 0 looks, and does not wait.
   *
   * @throws {RateLimitedError} At once if the queue is longer than `maxWait`, the cost is above the
   * capacity, or `maxWaiting` is reached. Later if other callers, including `consume` in this
   * thread, were faster than projected, or if a store answers that can never admit so much, such as
   * a fallback with a share of the limit.
   * @throws {StoreUnavailableError} If the store does not answer within `maxWait`, or is closed.
   * @throws The reason with which the signal was aborted.
   */
  acquire(key: string, options?: AcquireOptions): Promise<Decision>;
}

/**
 * A limiter on a store that answers at once.
 *
 * @typeParam OfStore The type of the store, with the methods of its own.
 */
export type Limiter<OfStore extends SyncStore = SyncStore> =
  & LimiterBase<Decision, void, OfStore>
  & PermitLimiter<"sync">;

/** A limiter on a store that answers by promises. */
export type AsyncLimiter =
  & LimiterBase<Promise<Decision>, Promise<void>, AsyncStore>
  & PermitLimiter<"async">;

/** The members of a limiter that only adapters and calls on several limiters use. */
export interface LimiterInternals extends Counter {
  /** The instant to decide at; `undefined` for the store's own time. */
  now(): number | undefined;
  readonly clock: Clock | undefined;
  report(decision: Decision, key: string, cost: number): void;
  /** The families of its keys: its own, then those of its older options. */
  readonly families: readonly string[];
  readonly permits: PermitDesk;
  /**
   * `consume` for a caller that may give the units back. It checks nothing, and reports as
   * `consume` does.
   */
  take(key: string, cost: number): MaybePromise<Acquired>;
  /**
   * `acquire` for a caller that may give the units back.
   *
   * @param afterUndo Whether an abort is reported only when nothing is charged any more: after a
   * call under way on the store has ended and its units are given back.
   */
  acquireOrUndo(key: string, afterUndo: boolean, options: AcquireOptions): Promise<Acquired>;
}

const internals = new WeakMap<object, LimiterInternals>();
const queuesOfStores = new WeakMap<Store, WaitingQueues>();

/** The internals of a limiter; `undefined` for anything else. */
export function internalsOf(limiter: object): LimiterInternals | undefined {
  return internals.get(limiter);
}

/** A limiter on a store of either kind: its answers are promises if the store's are. */
type LimiterOnAny = LimiterBase<MaybePromise<Decision>, MaybePromise<void>, Store> & PermitDesk;

/** The methods that are wrapped so that they fail as their store answers. */
type Failing = Omit<
  LimiterOnAny,
  "algorithm" | "store" | "prefix" | "consume" | "acquire" | "hold" | "withPermit"
>;

/**
 * Makes a limiter of an algorithm and a store; `mod.ts` adds the default store.
 *
 * @throws {RangeError} If the store cannot hold the algorithm's states.
 */
export function limiterOn(
  algorithm: Algorithm,
  store: Store,
  prefix: string,
  options: LimiterOptions,
): Limiter | AsyncLimiter {
  const { clock, replaces, maxWaiting = 10_000 } = options;
  const older = olderOptions(replaces).filter((it) => it.algorithm.id !== algorithm.id);
  const family = (store as StoreBase).open({ prefix, algorithm, older });
  // If the algorithm has permits, it is `consume` that throws, not the making of the limiter.
  const taking = holdsPermits(algorithm)
    ? { call: () => requireNoPermits("consume", algorithm) as never }
    : family.bind(consume);
  const queues = queuesOf(store);
  const decided = decisionCallback(options);

  /** The instant to decide at; `undefined` for the store's own time. */
  function instant(): number | undefined {
    return clock === undefined ? undefined : checkNow(clock());
  }

  function report(decision: Decision, key: string, cost: number): Decision {
    if (decided !== undefined) decided(decision, key, cost);
    return decision;
  }

  /** The answer, reported to `onDecision` as soon as it is known. */
  function reported(
    answer: MaybePromise<Decision>,
    key: string,
    cost: number,
  ): MaybePromise<Decision> {
    return decided === undefined ? answer : andThen(answer, (it) => report(it, key, cost));
  }

  /**
   * Runs a call that gives units back. When it has ended, the caller that waits for the key tries
   * again.
   */
  function wakeAfter<Value>(call: () => MaybePromise<Value>, key: string): MaybePromise<Value> {
    return andFinally(call, () => queues.byName.size > 0 && wakeQueue(queues, family.nameOf(key)));
  }

  function call<Argument, Answer>(
    verb: Verb<Argument, Answer>,
    key: string,
    argument: Argument,
  ): MaybePromise<Answer> {
    const bound = family.bind(verb);
    const now = instant();
    return verb.kind === "free" ? freed(bound, key, argument, now) : bound.call(key, argument, now);
  }

  /**
   * Runs a call that gives units back. It is fast where nobody waits for them and the answer is at
   * hand, which is the usual case.
   */
  function freed<Argument, Answer>(
    bound: BoundVerb<Argument, Answer>,
    key: string,
    argument: Argument,
    now: number | undefined,
  ): MaybePromise<Answer> {
    if (queues.byName.size > 0) return wakeAfter(() => bound.call(key, argument, now), key);
    const answer: MaybePromise<Answer> = bound.call(key, argument, now);
    return isPromise(answer) ? wakeAfter(() => answer, key) : answer;
  }

  const waiting: QueueLimiter = {
    algorithm,
    queues,
    maxWaiting,
    waiting: 0,
    passing: passingTime(clock),
    after: timerOf(clock),
    call,
    nameOf: family.nameOf,
    report,
    refundNotice: (key) => family.refundNotice?.(key),
    clock,
    tellsReleases: family.refundNotice !== undefined,
    renewalLag: family.renewalLag ?? 0,
  };
  const permits = permitDesk(waiting);
  const blocks = blockDesk(algorithm, call, options);

  const made: LimiterOnAny = Object.freeze({
    algorithm,
    store,
    prefix,
    consume(key: string, cost = 1): MaybePromise<Decision> {
      // This is the hot path, so the common outcomes of the checks are here, the rest in separate
      // functions.
      const isUsual = typeof key === "string" && key !== "" && typeof cost === "number";
      try {
        if (!isUsual || cost >>> 0 !== cost) {
          checkCall("consume", key, cost);
        }
        const answer = taking.call(key, cost, clock === undefined ? undefined : instant());
        return decided === undefined ? answer : reported(answer, key, cost);
      } catch (error) {
        return failOn(store, error);
      }
    },
    ...failingOn<Failing>(store, {
      peek(key: string, cost = 1): MaybePromise<Decision> {
        checkCall("peek", key, cost);
        return call(peek, key, cost);
      },
      refund(key: string, cost = 1): MaybePromise<Decision> {
        checkCall("refund", key, cost, 1);
        return reported(call(refund, key, cost), key, -cost);
      },
      charge(key: string, cost = 1): MaybePromise<Decision> {
        checkCall("charge", key, cost);
        return reported(call(charge, key, cost), key, cost);
      },
      block: blocks.block,
      unblock: blocks.unblock,
      reset(key: string): MaybePromise<void> {
        checkText("reset", "key", key);
        return wakeAfter(() => family.delete(key), key);
      },
      resetAll: () => deleteAll(store, prefix, queues),
    }),
    acquire: (key: string, options?: AcquireOptions) => acquire(waiting, key, options),
    hold: permits.hold,
    withPermit: permits.withPermit,
  });
  internals.set(made, {
    family,
    call,
    now: instant,
    clock,
    report,
    families: [algorithm, ...older.map(({ algorithm }) => algorithm)].map(({ id }) =>
      keyFamily(prefix, id)
    ),
    permits,
    take: (key, cost) =>
      andThen(call(takeBackable, key, { cost, id: newPermitId() }), ({ decision, mark }) => {
        report(decision, key, cost);
        return { decision, undo: undoOf({ call }, key, givingBack(cost, decision, mark)) };
      }),
    acquireOrUndo: (key, afterUndo, options) => acquireOrUndo(waiting, key, afterUndo, options),
  });
  // If the store answers at once, the answers are values; otherwise they are promises.
  return made as Limiter | AsyncLimiter;
}

/** The function that calls `onDecision`, if there is one; its failures go to `onFailure`. */
function decisionCallback(
  { onDecision, onFailure }: LimiterOptions,
): ((decision: Decision, key: string, cost: number) => void) | undefined {
  if (onDecision === undefined) return undefined;
  const report = failureReport(onFailure);
  return guarded(onDecision, (error, _decision, key) => report(error, key));
}

/** The older options that `replaces` names, as a list. */
export function olderOptions(replaces: LimiterOptions["replaces"]): readonly OlderOptions[] {
  if (replaces === undefined) return [];
  return Array.isArray(replaces) ? replaces : [replaces as OlderOptions];
}

/** The queues of a store: shared by all of its limiters in the thread. */
function queuesOf(store: Store): WaitingQueues {
  const known = queuesOfStores.get(store);
  if (known !== undefined) return known;
  const queues: WaitingQueues = { byName: new Map(), isClosed: false };
  queuesOfStores.set(store, queues);
  (store as StoreBase).onClose?.(() => endQueues(queues));
  return queues;
}

/** Forgets all keys of a prefix; then the callers that wait try again. */
function deleteAll(store: Store, prefix: string, queues: WaitingQueues): MaybePromise<void> {
  if (store.deleteAll === undefined) {
    throw typeError("reset all keys", "its store must have deleteAll", store.deleteAll);
  }
  const wakeAll = () => [...queues.byName.keys()].forEach((name) => wakeQueue(queues, name));
  return andFinally<void>(() => store.deleteAll!(prefix), wakeAll);
}

function checkCall(action: string, key: string, cost: number, least: number = 0): void {
  checkText(action, "key", key);
  checkCost(action, cost, least);
}
