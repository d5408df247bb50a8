/**
 * tidegate is rate limiting for TypeScript servers, written as pure functions: every algorithm an
 * exact reducer `(state, now, cost) => [decision, state]`, running unchanged in one process, across
 * the worker threads of a server, and across machines on Redis.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 *
 * const api = limiter(gcra({ limit: 100, period: "1m", burst: 20 }));
 * const decision = api.consume("user:42");
 * if (!decision.allowed) console.log(`again in ${decision.retryAfter} ms`);
 * ```
 *
 * @module
 */

import type { Ability, Algorithm } from "./core/algorithm.ts";
import { checkLimiter, checkPrefix } from "./core/limiter/check_limiter.ts";
import { limiterOn } from "./core/limiter/limiter.ts";
import type {
  AsyncLimiter,
  AsyncLimiterOptions,
  Limiter,
  LimiterOptions,
  StoreLimiterOptions,
  SyncLimiterOptions,
} from "./core/limiter/limiter_types.ts";
import type { Store, SyncStore } from "./core/store.ts";
import { type MemoryStore, memoryStore } from "./stores/memory/memory_store.ts";
import { warnOfProcesses } from "./stores/memory/warn_of_processes.ts";

/**
 * Makes a limiter: an algorithm, a store and a prefix for its keys.
 *
 * Without a store it has a memory store of its own. On a store that answers at once (memory,
 * shared memory) every method returns its value; on one that answers by promises (Redis), a promise
 * of it. Further calls are functions that take a limiter: `acquire`, `hold`, `block`, `reserve`.
 *
 * @param algorithm The algorithm that decides: `gcra(...)`, `all(...)`, or one of your own.
 * @param options The store and its prefix, a clock, what receives decisions.
 * @throws {TypeError} If an option is of the wrong type, or a store comes without a prefix.
 * @throws {RangeError} If an option is out of range, or the store cannot hold the algorithm's
 * states.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const api = limiter(gcra({ limit: 2, period: "1m", burst: 2 }));
 * assert.equal(api.consume("user:42").allowed, true);
 * assert.equal(api.consume("user:42", 5).retryAfter, Infinity); // above the capacity
 * assert.equal(api.peek("user:42", 0).remaining, 1);
 * ```
 */
export function limiter<Can extends Ability = never>(
  algorithm: Algorithm<unknown, Can>,
  options?: LimiterOptions & { readonly store?: undefined },
): Limiter<MemoryStore, Can>;
/** The same on a store that is given, whose own methods `limiter.store` has. */
export function limiter<OfStore extends SyncStore, Can extends Ability = never>(
  algorithm: Algorithm<unknown, Can>,
  options: StoreLimiterOptions & { readonly store: OfStore },
): Limiter<OfStore, Can>;
/** The same with options that may contain a store. */
export function limiter<Can extends Ability = never>(
  algorithm: Algorithm<unknown, Can>,
  options?: SyncLimiterOptions,
): Limiter<SyncStore, Can>;
/** The same on a store that answers by promises. */
export function limiter<Can extends Ability = never>(
  algorithm: Algorithm<unknown, Can>,
  options: AsyncLimiterOptions,
): AsyncLimiter<Can>;
/** The same on a store of either kind. */
export function limiter<Can extends Ability = never>(
  algorithm: Algorithm<unknown, Can>,
  options: StoreLimiterOptions,
): Limiter<SyncStore, Can> | AsyncLimiter<Can>;
export function limiter(
  algorithm: Algorithm,
  options: LimiterOptions & { readonly store?: Store | undefined } = {},
): never {
  checkLimiter(algorithm, options);
  const { store, prefix } = options;
  if (store !== undefined || prefix !== undefined) checkPrefix(prefix);
  const used = store ?? memoryStore();
  warnOfProcesses(used);
  // The overloads say of which kind the limiter is.
  return limiterOn(algorithm, used, prefix ?? "own", options) as never;
}

export type { Ability, AbilityOf, Algorithm, Policy } from "./core/algorithm.ts";
export { all } from "./core/algorithms/all.ts";
export { blockable } from "./core/algorithms/blockable.ts";
export type { Clock } from "./core/clock.ts";
export { concurrency, type ConcurrencyOptions } from "./core/algorithms/concurrency.ts";
export type { Codec } from "./core/codec.ts";
export { consumeAll, type Entry } from "./core/limiter/consume_all.ts";
export { consumeUpTo, type Taken } from "./core/limiter/consume_up_to.ts";
export type { Decision, DecisionSource } from "./core/decision.ts";
export {
  ContentionError,
  RateLimitedError,
  StoreFullError,
  StoreOverloadedError,
  StoreUnavailableError,
} from "./core/errors.ts";
export { calendarWindow, type CalendarWindowOptions } from "./core/algorithms/calendar_window.ts";
export type { CalendarUnit } from "./core/arithmetic/calendar.ts";
export { fixedWindow, type FixedWindowOptions } from "./core/algorithms/fixed_window.ts";
export { gcra } from "./core/algorithms/gcra.ts";
export { leakyBucket } from "./core/algorithms/leaky_bucket.ts";
export { leakyQueue, type LeakyQueueOptions } from "./core/algorithms/leaky_queue.ts";
export { acquire, type AcquireOptions } from "./core/waiting/acquire.ts";
export type {
  AnyLimiterBase,
  AsyncLimiter,
  AsyncLimiterBase,
  AsyncLimiterOptions,
  CallsOf,
  Limiter,
  LimiterBase,
  LimiterOptions,
  StoreLimiterOptions,
  SyncLimiterBase,
  SyncLimiterOptions,
  UnitCalls,
} from "./core/limiter/limiter_types.ts";
export { release, reserve, settle } from "./core/receipts/reservations.ts";
export {
  type ReceiptOfAll,
  releaseAll,
  type ReservationOfAll,
  reserveAll,
  type ReserveEntry,
  settleAll,
  type UsedOfAll,
} from "./core/receipts/reserve_all.ts";
export { type Balance, balance } from "./core/limiter/balance.ts";
export { block, type BlockOptions, unblock } from "./core/limiter/block.ts";
export type { BlockNote } from "./core/limiter/block_note.ts";
export { hold, withPermit } from "./core/waiting/hold.ts";
export type { Held, HoldOptions, Permit, WaitingHoldOptions } from "./core/limiter/permit.ts";
export { parsePeriod } from "./core/options/parse_period.ts";
export type { LeadingZeros, Period } from "./core/options/period.ts";
export type { BurstOptions, RateOptions } from "./core/options/rate_options.ts";
export {
  type GrowingLockoutOptions,
  lockout,
  type LockoutOptions,
} from "./core/algorithms/lockout.ts";
export { reservable, type ReservableOptions } from "./core/algorithms/reservable.ts";
export { slidingCounter } from "./core/algorithms/sliding_counter.ts";
export { slidingLog } from "./core/algorithms/sliding_log.ts";
export { slidingWindow, type SlidingWindowOptions } from "./core/algorithms/sliding_window.ts";
export { blocked, type BlockedKey } from "./stores/blocked.ts";
export type { AsyncStore, OlderOptions, ReplaceMode, Store, SyncStore } from "./core/store.ts";
export type { Receipt, ReceiptOutcome, Reservation, Settlement } from "./core/receipts/receipt.ts";
export { storedKey } from "./core/stored_key.ts";
export { tokenBucket, type TokenBucketOptions } from "./core/algorithms/token_bucket.ts";
export {
  type MemoryStore,
  memoryStore,
  type MemoryStoreOptions,
  type MemoryStoreStatistics,
} from "./stores/memory/memory_store.ts";
export {
  dump,
  restore,
  type RestoredLines,
  type RestoreOptions,
} from "./stores/memory/snapshot.ts";
