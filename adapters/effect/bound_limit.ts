/*
 * A limit bound to a store and to a fiber's clock, and what every call on it does: a store's errors
 * become typed failures, and verdicts are counted and traced.
 */

import * as Clock from "effect/Clock";
import * as Effect from "effect/Effect";
import type * as Fiber from "effect/Fiber";

import type { Clock as LimiterClock } from "../../core/clock.ts";
import type { Decision } from "../../core/decision.ts";
import {
  type AsyncLimiter,
  internalsOf,
  type Limiter,
  type LimiterInternals,
  limiterOn,
} from "../../core/limiter/limiter.ts";
import type { Store } from "../../core/store.ts";
import type { Limit } from "./limit.ts";
import { limiterClock } from "./limiter_clock.ts";
import { type LimitMetrics, limitMetrics } from "./limit_metrics.ts";
import { type RateLimitStoreError, storeErrorOf } from "./rate_limit_store_error.ts";
import type { SpanAttributes } from "./when_settled.ts";

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

/** Work on a store; what a store throws in it, or rejects with, is a typed failure. */
export function storeEffect<A, E>(
  work: (fiber: Fiber.Fiber<unknown, unknown>) => Effect.Effect<A, E>,
): Effect.Effect<A, E | RateLimitStoreError> {
  return Effect.catchDefect(Effect.withFiber(work), failOrDie);
}

/** What a store throws is a failure; anything else, such as a cost below 0, is a defect. */
export function failOrDie(cause: unknown): Effect.Effect<never, RateLimitStoreError> {
  const error = storeErrorOf(cause);
  return error === undefined ? Effect.die(cause) : Effect.fail(error);
}

/** Counts a verdict, and makes it an event of the span at hand. */
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
