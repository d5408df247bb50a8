/*
 * A limit bound to a store and to a fiber's clock, and what every call on it does: a store's errors
 * become typed failures, and verdicts are counted and traced.
 *
 * A limiter takes its clock when it is made; a fiber may be given another one at any time, a
 * `TestClock` above all. So the service keeps a limiter for each clock that it meets, all of them on
 * one store, and each call goes to the limiter of its own fiber's clock.
 *
 * The default clock is no clock of its own: it is `Date.now`. A fiber on it leaves the
 * time to the store, which on Redis is the server's.
 */

import * as Clock from "effect/Clock";
import * as Context from "effect/Context";
import * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import type * as Fiber from "effect/Fiber";
import * as Scheduler from "effect/Scheduler";

import type { Clock as LimiterClock } from "../../core/clock.ts";
import type { Decision } from "../../core/decision.ts";
import { isStoreError, type StoreUnavailableError } from "../../core/errors.ts";
import { limiterOn } from "../../core/limiter/limiter.ts";
import { internalsOf, type LimiterInternals } from "../../core/limiter/limiter_internals.ts";
import type { AsyncLimiter, Limiter } from "../../core/limiter/limiter_types.ts";
import { isPromise, type MaybePromise } from "../../core/maybe_promise.ts";
import type { Store } from "../../core/store.ts";
import {
  RateLimitError,
  StoreContention,
  StoreFull,
  StoreOverloaded,
  StoreUnavailable,
} from "./errors.ts";
import type { Limit } from "./limit.ts";
import { type LimitMetrics, limitMetrics } from "./limit_metrics.ts";

/** A limit on a store and a clock. */
export interface BoundLimit {
  readonly limit: Limit;
  readonly limiter: Limiter | AsyncLimiter;
  readonly internals: LimiterInternals;
  readonly metrics: LimitMetrics;
  /** How spans describe it. The key is not part of that: it may be a secret. */
  readonly attributes: SpanAttributes;
}

/** Finds the bound form of a limit for the fiber's own clock. */
export type Binder = (
  limit: Limit,
  fiber: Fiber.Fiber<unknown, unknown>,
) => BoundLimit;

/** Binds limits to a store, once for each clock that is met. */
export function limitBinder(store: Store): Binder {
  const clocks = new WeakMap<Clock.Clock, {
    readonly clock: LimiterClock | undefined;
    readonly bound: WeakMap<Limit, BoundLimit>;
  }>();
  return function bind(limit, fiber) {
    const current = fiber.getRef(Clock.Clock);
    let entry = clocks.get(current);
    if (entry === undefined) {
      entry = { clock: limiterClock(fiber, current), bound: new WeakMap() };
      clocks.set(current, entry);
    }
    let bound = entry.bound.get(limit);
    if (bound === undefined) {
      bound = bindTo(store, limit, entry.clock);
      entry.bound.set(limit, bound);
    }
    return bound;
  };
}

function bindTo(store: Store, limit: Limit, clock: LimiterClock | undefined): BoundLimit {
  const { prefix, algorithm, replaces, maxWaiting } = limit;
  const limiter = limiterOn(algorithm, store, prefix, { clock, replaces, maxWaiting });
  return {
    limit,
    limiter,
    internals: internalsOf(limiter)!,
    metrics: limitMetrics(prefix),
    attributes: { "tidegate.prefix": prefix, "tidegate.algorithm": algorithm.id },
  };
}

const REASONS = {
  StoreUnavailableError: StoreUnavailable,
  ContentionError: StoreContention,
  StoreFullError: StoreFull,
  StoreOverloadedError: StoreOverloaded,
};

/**
 * The failure that an error of a store is. Any other error, such as that of a cost below 0, is
 * thrown: what `Effect.try` is to map and cannot becomes a defect.
 */
export function storeFailure(cause: unknown): RateLimitError {
  if (!isStoreError(cause)) throw cause;
  const { name, message, applied } = cause as StoreUnavailableError;
  const Reason = REASONS[name as keyof typeof REASONS];
  const reason = new Reason({
    applied: applied === "unknown" ? "unknown" : "no",
    message: String(message),
    cause,
  });
  return new RateLimitError({ reason });
}

/** Fails with the failure that an error of a store is, or dies of any other error. */
export function failed(cause: unknown): Effect.Effect<never, RateLimitError> {
  return Effect.suspend(() => Effect.fail(storeFailure(cause)));
}

/** Counts a verdict, and adds it to the current span as an event. */
export function recordVerdict(
  fiber: Fiber.Fiber<unknown, unknown>,
  { limit: { prefix }, metrics }: BoundLimit,
  verb: string,
  decision: Decision,
  cost: number,
): void {
  metrics.count(decision, cost, fiber.context);
  const { span } = fiber.cache;
  if (span?._tag !== "Span") return;
  span.event(`RateLimiter.${verb}`, fiber.getRef(Clock.Clock).currentTimeNanosUnsafe(), {
    "tidegate.prefix": prefix,
    "tidegate.allowed": decision.allowed,
    "tidegate.remaining": decision.remaining,
  });
}

/**
 * The clock of a fiber in the form that a limiter takes; `undefined` for the default clock.
 *
 * Waiting on it is a fiber that sleeps on the same clock, under the scheduler of the fiber at hand.
 */
function limiterClock(
  fiber: Fiber.Fiber<unknown, unknown>,
  clock: Clock.Clock,
): LimiterClock | undefined {
  if (isDefault(clock)) return undefined;
  const context = Context.make(Clock.Clock, clock).pipe(
    Context.add(Scheduler.Scheduler, fiber.getRef(Scheduler.Scheduler)),
  );

  function after(milliseconds: number, wake: () => void): () => void {
    let awaited = true;
    // A sleep of zero length ends at once, but the caller must get the cancelling function first.
    const wakeNext = Effect.sync(() => queueMicrotask(() => awaited && wake()));
    const sleep = Effect.andThen(clock.sleep(Duration.millis(milliseconds)), wakeNext);
    const sleeper = Effect.runForkWith(context)(sleep);
    return function cancel(): void {
      awaited = false;
      sleeper.interruptUnsafe();
    };
  }

  return Object.assign(() => clock.currentTimeMillisUnsafe(), { after });
}

/** The time of a clock; `undefined` for the default clock. */
export function timeOf(clock: Clock.Clock): number | undefined {
  return isDefault(clock) ? undefined : clock.currentTimeMillisUnsafe();
}

function isDefault(clock: Clock.Clock): boolean {
  return clock === Context.get(Context.empty(), Clock.Clock);
}

/** The attributes of a call's span. */
export type SpanAttributes = Readonly<Record<string, unknown>>;

/** A call on a limit, and what its fiber makes of the answer. */
export function callLimit<Answer, A>(
  bind: Binder,
  verb: string,
  limit: Limit,
  call: (limiter: Limiter | AsyncLimiter) => MaybePromise<Answer>,
  answered: (answer: Answer, bound: BoundLimit, fiber: Fiber.Fiber<unknown, unknown>) => A,
): Effect.Effect<A, RateLimitError> {
  return Effect.withFiber((fiber) => {
    const bound = bind(limit, fiber);
    return callStore(
      () => call(bound.limiter),
      (answer) => Effect.succeed(answered(answer, bound, fiber)),
      storeFailure,
      `RateLimiter.${verb}`,
      bound.attributes,
    );
  });
}

/**
 * Calls a store, and goes on with its answer: at once, or when its promise is kept.
 *
 * The wait for a promise cannot be interrupted: calls on a store are short, and the caller must
 * know whether a call was charged. The wait is a span if it has a name.
 *
 * @param failure The typed failure that an error is; it throws an error that is a defect.
 */
export function callStore<Answer, A, E, E2>(
  call: () => MaybePromise<Answer>,
  answered: (answer: Answer) => Effect.Effect<A, E2>,
  failure: (cause: unknown) => E,
  name?: string,
  attributes?: SpanAttributes,
): Effect.Effect<A, E | E2> {
  return Effect.flatMap(Effect.try({ try: call, catch: failure }), (answer) => {
    if (!isPromise(answer)) return answered(answer);
    const promise = Promise.resolve(answer);
    // A tracer or a clock that throws keeps the promise from being awaited, and then a rejection must
    // not end the process.
    promise.catch(noOne);
    const awaited = Effect.tryPromise({ try: () => promise, catch: failure });
    const traced = name === undefined ? awaited : Effect.withSpan(awaited, name, { attributes });
    return Effect.flatMap(Effect.uninterruptible(traced), answered);
  });
}

function noOne(): void {}
