/*
 * The limiter that callers hold: it checks arguments, reads the clock, runs the store and reports
 * the verdict. It is written once for stores that answer at once and for those that answer by promises.
 */

import type { Algorithm } from "../algorithm.ts";
import { acquire, type Acquired, type AcquireOptions, acquireOrUndo } from "./acquire.ts";
import { andFinally, andThen, isPromise, type MaybePromise } from "../maybe_promise.ts";
import { checkCost, checkNow, checkText, typeError } from "../options/checks.ts";
import type { Receipt, Reservation, Settlement } from "../receipts/receipt.ts";
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
import { reserve } from "../verbs/reserve.ts";
import type { BlockNote, BlockOptions } from "./block_key.ts";
import { blockDesk, permitDesk } from "./desks.ts";
import type { Period } from "../options/period.ts";
import { endQueues } from "./end_queues.ts";
import { type As, receiptCalls, type ReserveOptions } from "./receipt_calls.ts";
import { storeNames } from "./store_names.ts";
import { undoOf } from "./undo.ts";
import { wakeQueue } from "./wait_in_queue.ts";

/** The options of a limiter, whatever its store. */
export interface LimiterOptions {
  /**
   * The beginning of the limiter's keys in the store. Required with a store, because two limiters that
   * share counters by accident are the commonest fault there is.
   */
  readonly prefix?: string | undefined;
  /** Where `now` comes from; without it the store's own time. */
  readonly clock?: Clock | undefined;
  /**
   * Called with every verdict that a caller is given, `peek` apart; for metrics. It may be
   * asynchronous: nobody waits for it. Its failure changes no verdict, and goes to `onFailure`.
   */
  readonly onDecision?:
    | ((decision: Decision, key: string, cost: number) => void)
    | undefined;
  /** Called after a `block` or an `unblock`, with the decision that it left; for audit logs. */
  readonly onBlock?:
    | ((decision: Decision, key: string, note: BlockNote) => void)
    | undefined;
  /**
   * Called with what `onDecision` or `onBlock` throws, or rejects with, and the key of the call;
   * without it the first failure is printed.
   */
  readonly onFailure?: ((error: unknown, key: string) => void) | undefined;
  /**
   * The options that this limiter's took the place of, so that a changed limit forgets nothing; or
   * several of them, the newest first. Those that equal its own are left out.
   */
  readonly replaces?: OlderOptions | readonly OlderOptions[] | undefined;
  /** The most callers that may wait in `acquire`; a positive integer; default 10,000. */
  readonly maxWaiting?: number | undefined;
}

/** The options of a limiter on a store that is given. */
export interface StoreLimiterOptions extends LimiterOptions {
  /** The store, of either kind. */
  readonly store: Store;
  /** The beginning of the limiter's keys in the store. */
  readonly prefix: string;
}

/**
 * The options of a limiter on a store that answers at once; without a store it has a memory store
 * of its own.
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
   * @param cost Units to take, an integer of at least 0; default 1. 0 looks.
   * @throws {TypeError} If the key is no non-empty string, or the cost no number.
   * @throws {RangeError} If the cost is no integer of at least 0.
   */
  consume(key: string, cost?: number): Answer;
  /** Answers as `consume` would, and changes nothing. The balance is `peek(key, 0)`. */
  peek(key: string, cost?: number): Answer;
  /**
   * Gives units back that were just taken, the newest first: an integer of at least 1; default 1. For
   * units given back later use a receipt: this takes whatever the key holds by then, which may be
   * units of later calls, and so admits more than the limit.
   */
  refund(key: string, cost?: number): Answer;
  /**
   * Gives units of a receipt back, as far as they still count: what drained, or was in a window that
   * is over, is not given back, so that nobody else's units are. A receipt gives back each unit once,
   * as long as the key remembers it (the 16 that were settled last, for as long as units count).
   *
   * @param key The key of the receipt.
   * @param receipt The receipt of `reserve`.
   * @param units An integer of at least 1; all of the receipt's without it.
   * @throws {TypeError} If the key is no non-empty string, or the receipt none.
   * @throws {RangeError} If the units are no integer of at least 1.
   */
  refund(key: string, receipt: Receipt, units?: number): As<Answer, Settlement>;
  /**
   * Takes as `consume` does, and answers a receipt with which these very units are settled later: an
   * estimate whose real cost is known only afterwards, a job that may fail.
   *
   * With a `ttl` the units are given back by themselves after that time unless the receipt was settled
   * before, and `retryAfter` says so beforehand. That is for limits over days and months: units of
   * a second or a minute are soon free again anyhow. A key remembers 64 such receipts; the units of
   * another call are charged without a time to live, and its `receipt.expires` is `false`.
   *
   * @param key The key whose units are taken: a non-empty string.
   * @param cost Units to take, an integer of at least 0; default 1.
   * @param options `ttl` in milliseconds or as text.
   * @throws {TypeError} If the key is no non-empty string, or the cost no number.
   * @throws {RangeError} If the cost is no integer of at least 0, or the `ttl` out of range.
   *
   * @example
   * ```ts
   * import { gcra, limiter } from "tidegate";
   * import assert from "node:assert/strict";
   *
   * let now = 0;
   * const tokens = limiter(gcra({ limit: 60, period: "1m", burst: 10 }), { clock: () => now });
   * const { receipt } = tokens.reserve("user:42", 8);
   * now = 2_000; // two units have drained
   * const { returned } = tokens.settle("user:42", receipt!, 1);
   * assert.equal(returned, 6);
   * ```
   */
  reserve(
    key: string,
    cost?: number,
    options?: ReserveOptions,
  ): As<Answer, Reservation>;
  /**
   * Settles a receipt, at most once: gives back what it took beyond `actual`, as `refund` does, or
   * charges what was used beyond it, as `charge` does.
   *
   * @param key The key of the receipt.
   * @param receipt The receipt of `reserve`.
   * @param actual Units that were really used, an integer of at least 0.
   * @throws {TypeError} If the key is no non-empty string, or the receipt none.
   * @throws {RangeError} If `actual` is no integer of at least 0.
   */
  settle(key: string, receipt: Receipt, actual: number): As<Answer, Settlement>;
  /** Settles a receipt of a call that used nothing. */
  release(key: string, receipt: Receipt): As<Answer, Settlement>;
  /**
   * Takes what was really used, beyond the limit if need be: for a cost that is known only afterwards,
   * such as the tokens of an answer. It is always allowed. Where it takes more than was there, the key
   * is in debt (`decision.debt`), and nothing is admitted until that has drained. Charging at once is
   * charging in parts; `refund` gives back what was charged.
   *
   * @param key The key whose units are taken: a non-empty string.
   * @param cost Units that were used, an integer of at least 0; default 1.
   * @returns The balance after it. A key owes no more than a bound that its algorithm states.
   * @throws {TypeError} If the key is no non-empty string, or the cost no number.
   * @throws {RangeError} If the cost is no integer of at least 0.
   */
  charge(key: string, cost?: number): Answer;
  /**
   * Blocks a key by hand: every call that takes units of it is refused from now on for `duration`, and
   * writes nothing. A longer block takes the place of a shorter one; a shorter one changes nothing.
   * The algorithm must be `blockable(...)`, or an `all` with such a part.
   *
   * @param key The key to block: a non-empty string.
   * @param duration How long: whole milliseconds, or text such as `"1h"`.
   * @param options `reason`, for `onBlock`: text of at most 200 characters. It is not stored.
   * @returns The balance: `remaining` is 0, and `nextAfter` when something is admitted again.
   * @throws {TypeError} If the key is no non-empty string, or keys of the algorithm cannot be blocked.
   * @throws {RangeError} If the duration is out of range, or the reason too long.
   */
  block(key: string, duration: Period, options?: BlockOptions): Answer;
  /**
   * Ends a block that was made by hand. The key is as if there had been none: what it had used counts
   * as far as it has not ended meanwhile. A lock of `lockout` stays: `reset` ends that, too.
   *
   * @throws {TypeError} If the key is no non-empty string, or keys of the algorithm cannot be blocked.
   */
  unblock(key: string): Answer;
  /** Forgets the key, its block included. */
  reset(key: string): Done;
  /**
   * Forgets every key under the limiter's prefix, whatever its algorithm: those of other limiters with
   * the same prefix on the same store, and of options that this limiter had before, too. Prefixes that
   * merely begin with it are left alone.
   *
   * Calls made meanwhile may count before it or after it. On memory it takes time linear in the
   * keys of the prefix, in Redis in all keys of the database, a thousand at a time.
   *
   * @throws {TypeError} If the store has no `deleteAll`.
   */
  resetAll(): Done;
  /**
   * Waits its turn, then takes, then waits out the decision's `delay`.
   *
   * First come, first served for each key in the thread: only the first one tries, nothing is
   * taken for those who wait, and a large cost is not overtaken by small ones. `refund` and `reset`
   * wake it, on the shared store those of other threads as well. An abort while queueing charges
   * nothing; in the delay of a `leakyQueue` only the newest place is given back.
   *
   * A cost of 0 looks, and does not wait.
   *
   * @throws {RateLimitedError} At once if the queue is longer than `maxWait`, the cost above the
   * capacity or `maxWaiting` reached; later, if others were faster than projected, `consume` in this
   * thread included, or another store answers that can never admit as much, such as a share of the
   * limit.
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

/** The members of a limiter that only adapters and `consumeAll` use. */
export interface LimiterInternals {
  /** A verb on the limiter's keys. */
  bind<Argument, Answer>(verb: Verb<Argument, Answer>): BoundVerb<Argument, Answer>;
  /** Runs a verb on one of the keys; if it gives units back, whoever waits for the key tries again. */
  call<Argument, Answer>(
    verb: Verb<Argument, Answer>,
    key: string,
    argument: Argument,
  ): MaybePromise<Answer>;
  /** The instant to decide at; `undefined` for the store's own time. */
  now(): number | undefined;
  readonly clock: Clock | undefined;
  report(decision: Decision, key: string, cost: number): void;
  readonly permits: PermitDesk;
  /** `consume` for a caller that may give the units back. Checks nothing, and reports as `consume` does. */
  take(key: string, cost: number): MaybePromise<Acquired>;
  /**
   * `acquire` for a caller that may give the units back.
   *
   * @param afterUndo Whether an abort is reported only when nothing is charged any more: after a call on
   * the store that is under way, and what gives its units back.
   */
  acquireOrUndo(key: string, afterUndo: boolean, options: AcquireOptions): Promise<Acquired>;
}

const internals = new WeakMap<object, LimiterInternals>();
const queuesOfStores = new WeakMap<Store, WaitingQueues>();

/** The internals of a limiter; `undefined` of anything else. */
export function internalsOf(limiter: object): LimiterInternals | undefined {
  return internals.get(limiter);
}

/** A limiter on a store of either kind: its answers are promises if the store's are. */
type LimiterOnAny = LimiterBase<MaybePromise<Decision>, MaybePromise<void>, Store> & PermitDesk;

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
  // Where nobody can consume, the call says so, and not the limiter as it is made.
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

  /** The answer, reported to `onDecision` when it is there. */
  function reported(
    answer: MaybePromise<Decision>,
    key: string,
    cost: number,
  ): MaybePromise<Decision> {
    return decided === undefined ? answer : andThen(answer, (it) => report(it, key, cost));
  }

  /** Runs a call that gives units back; when it has ended, whoever waits for the key tries again. */
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

  /** Runs a call that gives units back: mostly nobody waits for them, and the answer is at hand. */
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

  const names = storeNames(store, prefix, instant);
  const receipts = receiptCalls({
    names,
    family: keyFamily(prefix, algorithm.id),
    call,
    report,
    checkCall,
  });
  const made: LimiterOnAny = Object.freeze({
    algorithm,
    store,
    prefix,
    consume(key: string, cost = 1): MaybePromise<Decision> {
      // The checks' common outcomes here, the rest in functions of their own: this is the hot path.
      const isUsual = typeof key === "string" && key !== "" && typeof cost === "number";
      if (!isUsual || cost >>> 0 !== cost) {
        checkCall("consume", key, cost);
      }
      const answer = taking.call(key, cost, clock === undefined ? undefined : instant());
      return decided === undefined ? answer : reported(answer, key, cost);
    },
    peek(key: string, cost = 1): MaybePromise<Decision> {
      checkCall("peek", key, cost);
      return call(peek, key, cost);
    },
    refund(key: string, cost: number | Receipt = 1, units?: number): never {
      if (typeof cost === "object" && cost !== null) {
        return receipts.refund(key, cost, units) as never;
      }
      checkCall("refund", key, cost, 1);
      return reported(call(refund, key, cost), key, -cost) as never;
    },
    reserve: receipts.reserve as LimiterOnAny["reserve"],
    settle: receipts.settle as LimiterOnAny["settle"],
    release: receipts.release as LimiterOnAny["release"],
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
    resetAll: () => andFinally(() => deleteAll(store, prefix, queues), names.forget),
    acquire: (key: string, options?: AcquireOptions) => acquire(waiting, key, options),
    hold: permits.hold,
    withPermit: permits.withPermit,
  });
  internals.set(made, {
    bind: (verb) => family.bind(verb),
    call,
    now: instant,
    clock,
    report,
    permits,
    take: (key, cost) =>
      andThen(call(reserve, key, { cost, id: 0, ttl: 0 }), ({ decision, mark }) => {
        report(decision, key, cost);
        return { decision, undo: undoOf({ call }, key, cost, decision, mark) };
      }),
    acquireOrUndo: (key, afterUndo, options) => acquireOrUndo(waiting, key, afterUndo, options),
  });
  // The answers of a store that answers at once are at hand, those of others promises.
  return made as Limiter | AsyncLimiter;
}

/** Calls `onDecision`, if there is one; its failures go to `onFailure`. */
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

/** Forgets all keys of a prefix; then whoever waits tries again. */
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
