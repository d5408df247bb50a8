/*
 * The types of limiters and of their options. The type of a limiter says whether its store answers
 * at once, and what its algorithm allows.
 */

import type { Ability, Algorithm } from "../algorithm.ts";
import type { Clock } from "../clock.ts";
import type { Decision } from "../decision.ts";
import type { Answered, AsyncStore, OlderOptions, Store, StoreMode, SyncStore } from "../store.ts";
import type { BlockNote } from "./block_note.ts";

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
   * The older options that this limiter's options replace, so that a changed rate, period or
   * algorithm forgets nothing; or a list of older options, the newest first. Options that equal the
   * limiter's own, or differ only in the limit of a window or a burst, are left out: they share keys.
   */
  readonly replaces?: OlderOptions | readonly OlderOptions[] | undefined;
  /** The most callers that may wait in `acquire` or `hold`; a positive integer; default 10,000. */
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

/** The members of every limiter. */
export interface LimiterBase<
  Mode extends StoreMode = StoreMode,
  OfStore extends Store = Store,
  Can extends Ability = never,
> {
  /** The algorithm, as given. */
  readonly algorithm: Algorithm<unknown, Can>;
  /** The store, as given, or the limiter's own. */
  readonly store: OfStore;
  /** The beginning of the limiter's keys in the store. */
  readonly prefix: string;
  /**
   * Answers as `consume` would (or `hold`, where units are permits), and changes nothing. A cost of 0
   * is always allowed, on a blocked key too; `balance` says what a key has used.
   */
  peek(key: string, cost?: number): Answered<Mode, Decision>;
  /** Forgets the key, its block included. */
  reset(key: string): Answered<Mode, void>;
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
  resetPrefix(): Answered<Mode, void>;
}

/** The calls of a limiter that take units and give them back. Units of permits are held instead. */
export interface UnitCalls<Mode extends StoreMode = StoreMode> {
  /**
   * Decides and takes.
   *
   * @param key The key whose units are taken: a non-empty string.
   * @param cost Units to take, an integer of at least 0; default 1. 0 looks, and takes nothing.
   * @throws {TypeError} If the key is not a non-empty string, or the cost is not a number.
   * @throws {RangeError} If the cost is not an integer of at least 0.
   */
  consume(key: string, cost?: number): Answered<Mode, Decision>;
  /**
   * Gives back units that were just taken, the newest first: an integer of at least 1; default 1.
   * `refund` removes whatever units the key holds by then. Later on, these may belong to other calls,
   * and then more than the limit is admitted: use `reservable`, `reserve` and `settle` instead.
   *
   * @throws {TypeError} If the algorithm is `reservable`: its units go back by receipts.
   */
  refund(key: string, cost?: number): Answered<Mode, Decision>;
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
  charge(key: string, cost?: number): Answered<Mode, Decision>;
}

/** The members that a limiter has because of what its algorithm allows. */
export type CallsOf<Mode extends StoreMode, Can extends Ability> = "permits" extends Can ? unknown
  : UnitCalls<Mode>;

/**
 * A limiter on a store that answers at once.
 *
 * @typeParam OfStore The type of the store, with the methods of its own.
 * @typeParam Can Calls that its algorithm allows: a limiter of permits has no `consume`.
 */
export type Limiter<OfStore extends SyncStore = SyncStore, Can extends Ability = never> =
  & LimiterBase<"sync", OfStore, Can>
  & CallsOf<"sync", Can>;

/**
 * A limiter on a store that answers by promises.
 *
 * @typeParam Can Calls that its algorithm allows: a limiter of permits has no `consume`.
 */
export type AsyncLimiter<Can extends Ability = never> =
  & LimiterBase<"async", AsyncStore, Can>
  & CallsOf<"async", Can>;

/** A limiter, as far as functions on it need one, on a store that answers at once. */
export type SyncLimiterBase<Can extends Ability> = LimiterBase<"sync", SyncStore, Can>;

/** A limiter, as far as functions on it need one, on a store that answers by promises. */
export type AsyncLimiterBase<Can extends Ability> = LimiterBase<"async", AsyncStore, Can>;

/** A limiter, as far as functions on it need one, on a store of either kind. */
export type AnyLimiterBase<Can extends Ability = never> =
  | SyncLimiterBase<Can>
  | AsyncLimiterBase<Can>;
