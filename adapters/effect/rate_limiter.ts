/*
 * The service that programs use: the operations of a limiter as effects with typed failures, on
 * the clock, in the span and with the metrics of the calling fiber.
 */

import * as Context from "effect/Context";
import * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import type * as Scope from "effect/Scope";

import { consumeAll } from "../../core/limiter/consume_all.ts";
import type { Decision as CoreDecision } from "../../core/decision.ts";
import type { AsyncLimiter, Limiter } from "../../core/limiter/limiter_types.ts";
import type { MaybePromise } from "../../core/maybe_promise.ts";
import { release, settle } from "../../core/receipts/reservations.ts";
import type { Receipt } from "../../core/receipts/receipt.ts";
import type { Store } from "../../core/store.ts";
import { warnOfProcesses } from "../../stores/memory/warn_of_processes.ts";
import { type Admission, take, waitFor } from "./admission.ts";
import { checkOptions } from "../../core/options/checks.ts";
import {
  type Binder,
  callLimit,
  callStore,
  limitBinder,
  recordVerdict,
  storeFailure,
} from "./bound_limit.ts";
import { type Decision, withDurations } from "./decision.ts";
import { type HeldPermit, type HoldOptions, holdPermit } from "./held_permit.ts";
import type { Limit } from "./limit.ts";
import { type Reservation, reserve, settleBy, type Settlement } from "./receipts.ts";
import type { RateLimitError } from "./errors.ts";

/** The options of a wait. */
export interface AcquireOptions {
  /** Units to take, an integer of at least 0; default 1. */
  readonly cost?: number | undefined;
  /** The longest wait; unlimited unless given. */
  readonly maxWait?: Duration.Input | undefined;
}

/** The options of `admit`. */
export interface AdmitOptions extends AcquireOptions {
  /** Whether to wait for the units, like `acquire`; without it a refusal fails. */
  readonly wait?: boolean | undefined;
  /**
   * Makes the wait interruptible where the call itself is not: what `Effect.uninterruptibleMask`
   * provides. So nothing can come between the admission and the limited effect.
   */
  readonly restore?: (<A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>) | undefined;
}

/** One key of several, for `consumeAll`. */
export interface LimitEntry {
  /** The limit that holds. */
  readonly limit: Limit;
  /** The owner of the units: a non-empty string. */
  readonly key: string;
  /** Units to take, an integer of at least 0; default 1. */
  readonly cost?: number | undefined;
}

/**
 * Rate limiting as a service: it holds the store, and every call names its limit.
 *
 * The time comes from the calling fiber's `Clock`. With the default clock, the store's own time is
 * used, which on Redis is the server's time; with any other clock, such as a `TestClock`, the time
 * of that clock.
 *
 * Verdicts are counted (`decisionsMetric`, `unitsMetric`) and are events of the current span; a
 * wait, or a call on a store that answers by promises, takes time and is a span of its own.
 *
 * An empty key, or a cost that is not an integer of at least 0, is a defect. An interrupt never
 * leaves a call half done: a call on the store is not interrupted, and a wait takes back what it
 * took.
 */
export interface RateLimiter {
  /** The store that holds the counters. */
  readonly store: Store;
  /** The limit as a plain limiter of tidegate, on the fiber's clock: for adapters and callbacks. */
  limiterOf(limit: Limit): Effect.Effect<Limiter | AsyncLimiter>;
  /** Decides and takes; a refusal is a decision too. The cost is 1 unless given; 0 looks. */
  consume(limit: Limit, key: string, cost?: number): Effect.Effect<Decision, RateLimitError>;
  /** Takes, or fails with the reason `RateLimited`. */
  consumeOrFail(
    limit: Limit,
    key: string,
    cost?: number,
  ): Effect.Effect<Decision, RateLimitError>;
  /** Answers as `consume` would, and changes nothing. With cost 0 the answer is the balance. */
  peek(limit: Limit, key: string, cost?: number): Effect.Effect<Decision, RateLimitError>;
  /**
   * Gives units back that were just taken, the newest first: an integer of at least 1; default 1.
   * To give units back later, use a reservable algorithm and a receipt.
   */
  refund(limit: Limit, key: string, cost?: number): Effect.Effect<Decision, RateLimitError>;
  /**
   * Takes as `consume` does, and returns a receipt with which exactly these units can be settled
   * later. The limit's algorithm must be `reservable(...)`. An interrupt does not stop a call on the
   * store, and the receipt is then lost with the fiber: to avoid that, use `Effect.acquireRelease`.
   */
  reserve(
    limit: Limit,
    key: string,
    cost?: number,
  ): Effect.Effect<Reservation, RateLimitError>;
  /**
   * Settles a receipt, at most once. If it took more than was used, the difference is given back; if
   * it took less, the difference is charged.
   */
  settle(
    limit: Limit,
    key: string,
    receipt: Receipt,
    used: number,
  ): Effect.Effect<Settlement, RateLimitError>;
  /** Settles a receipt of a call that used nothing. */
  release(
    limit: Limit,
    key: string,
    receipt: Receipt,
  ): Effect.Effect<Settlement, RateLimitError>;
  /**
   * Holds a permit of `concurrency` until the scope is closed; `withPermit` is built on it. An
   * interrupt ends the wait for a permit, and releases a permit that arrives nevertheless.
   */
  hold(
    limit: Limit,
    key: string,
    options?: HoldOptions,
  ): Effect.Effect<HeldPermit, RateLimitError, Scope.Scope>;
  /**
   * Takes the units that were actually used, beyond the limit if need be; always allowed. Default
   * 1.
   */
  charge(limit: Limit, key: string, cost?: number): Effect.Effect<Decision, RateLimitError>;
  /** Forgets every key of the limit's prefix. */
  resetPrefix(limit: Limit): Effect.Effect<void, RateLimitError>;
  /** Forgets the key. */
  reset(limit: Limit, key: string): Effect.Effect<void, RateLimitError>;
  /**
   * Waits its turn, then takes, then waits out the delay of a queue. Each key in the process is
   * first come, first served. It fails at once if the queue is longer than `maxWait`.
   *
   * An interrupt undoes the call: a fiber that queues has taken nothing, and a fiber in the delay
   * of a queue gives its place back if it is the newest.
   */
  acquire(
    limit: Limit,
    key: string,
    options?: AcquireOptions,
  ): Effect.Effect<Decision, RateLimitError>;
  /**
   * Takes from several keys at one instant, all or nothing; `parts` has the decision of each key.
   */
  consumeAll(entries: readonly LimitEntry[]): Effect.Effect<Decision, RateLimitError>;
  /**
   * Takes or waits as `consumeOrFail` and `acquire` do, and returns how to undo it; `withLimit` is
   * built on it. The delay of a queue is waited out only with `wait`.
   */
  admit(
    limit: Limit,
    key: string,
    options?: AdmitOptions,
  ): Effect.Effect<Admission, RateLimitError>;
}

/**
 * The service key of `RateLimiter`.
 *
 * @example
 * ```ts
 * import { Effect } from "effect";
 * import { gcra } from "tidegate";
 * import { layerMemory, limit, RateLimiter } from "tidegate/effect";
 * import assert from "node:assert/strict";
 *
 * const api = limit("api", gcra({ limit: 2, period: "1m", burst: 2 }));
 * const program = Effect.gen(function* () {
 *   const limiter = yield* RateLimiter;
 *   yield* limiter.consume(api, "user:42", 2);
 *   return yield* limiter.consume(api, "user:42");
 * });
 *
 * const decision = await Effect.runPromise(Effect.provide(program, layerMemory()));
 * assert.equal(decision.allowed, false);
 * ```
 */
export const RateLimiter: Context.Service<RateLimiter, RateLimiter> = Context.Service<RateLimiter>(
  "tidegate/effect/RateLimiter",
);

/** Makes the service on a store, which the caller has to close. */
export function makeRateLimiter(store: Store): RateLimiter {
  warnOfProcesses(store);
  const bind = limitBinder(store);
  return {
    store,
    limiterOf: (limit) => Effect.withFiberSucceed((fiber) => bind(limit, fiber).limiter),
    consume: (limit, key, cost) => decide(bind, "consume", limit, key, cost),
    peek: (limit, key, cost) => decide(bind, "peek", limit, key, cost),
    refund: (limit, key, cost) => decide(bind, "refund", limit, key, cost),
    reserve: (limit, key, cost) => reserve(bind, limit, key, cost),
    settle: (limit, key, receipt, used) =>
      settleBy(bind, "settle", limit, (limiter) => settle(limiter, key, receipt, used)),
    release: (limit, key, receipt) =>
      settleBy(bind, "release", limit, (limiter) => release(limiter, key, receipt)),
    hold: (limit, key, options) => holdPermit(bind, limit, key, options),
    charge: (limit, key, cost) => decide(bind, "charge", limit, key, cost),
    reset: (limit, key) => callLimit(bind, "reset", limit, (limiter) => limiter.reset(key), noOne),
    resetPrefix: (limit) =>
      callLimit(bind, "resetPrefix", limit, (limiter) => limiter.resetPrefix(), noOne),
    consumeOrFail: (limit, key, cost) =>
      Effect.map(admit(bind, "consumeOrFail", limit, key, { cost }, false), decisionOf),
    acquire: (limit, key, options) =>
      Effect.map(admit(bind, "acquire", limit, key, { ...options, wait: true }), decisionOf),
    admit: (limit, key, options) => admit(bind, "admit", limit, key, options),
    consumeAll: (entries) => consumeEntries(bind, entries),
  };
}

/** One call on a limit: a verdict, with durations. */
function decide(
  bind: Binder,
  verb: "consume" | "peek" | "refund" | "charge",
  limit: Limit,
  key: string,
  cost: number = 1,
): Effect.Effect<Decision, RateLimitError> {
  return callLimit(
    bind,
    verb,
    limit,
    (limiter): MaybePromise<CoreDecision> => limiter[verb](key, cost),
    (decision, bound, fiber) => {
      if (verb === "consume") recordVerdict(fiber, bound, verb, decision, cost);
      return withDurations(decision);
    },
  );
}

/** Takes units now or waits for them; its failures are typed. */
function admit(
  bind: Binder,
  verb: string,
  limit: Limit,
  key: string,
  options: AdmitOptions = {},
  keeps: boolean = true,
): Effect.Effect<Admission, RateLimitError> {
  return Effect.withFiber((fiber) => {
    checkOptions<AdmitOptions>(verb, options, {
      cost: true,
      maxWait: true,
      wait: true,
      restore: true,
    });
    const { cost = 1, maxWait, wait = false, restore } = options;
    const call = { fiber, bound: bind(limit, fiber), verb, key, cost };
    return wait ? waitFor(call, millisOf(maxWait), restore) : take(call, keeps);
  });
}

function consumeEntries(
  bind: Binder,
  entries: readonly LimitEntry[],
): Effect.Effect<Decision, RateLimitError> {
  return Effect.withFiber((fiber) => {
    const bound = entries.map((entry) => bind(entry.limit, fiber));
    const call = (): MaybePromise<CoreDecision> =>
      consumeAll(
        entries.map(({ key, cost }, index) => ({
          // A store is of one kind, and `consumeAll` answers in the same way as the store.
          limiter: bound[index]!.limiter as Limiter,
          key,
          cost,
        })),
      );
    const prefixes = { "tidegate.prefix": entries.map(({ limit }) => limit.prefix).join() };
    return callStore(
      call,
      (decision) => {
        decision.parts!.forEach((part, index) => {
          const verdict = { ...part, allowed: decision.allowed };
          recordVerdict(fiber, bound[index]!, "consumeAll", verdict, entries[index]!.cost ?? 1);
        });
        return Effect.succeed(withDurations(decision));
      },
      storeFailure,
      "RateLimiter.consumeAll",
      prefixes,
    );
  });
}

function decisionOf({ decision }: Admission): Decision {
  return withDurations(decision);
}

function millisOf(duration: Duration.Input | undefined): number {
  return duration === undefined ? Infinity : Duration.toMillis(Duration.fromInputUnsafe(duration));
}

function noOne(): void {}
