/*
 * A limit on a store, as effects.
 *
 * Calls on a store are short, and a store that answers by promises has a deadline; so they cannot be
 * interrupted, and whoever made one knows whether it was charged. Waiting can be interrupted at any
 * time, and takes back what it took:
 *
 *   while it queues              nothing has been taken
 *   in the delay of a queue      the place is given back, if it is the newest
 *   admitted at that instant     the units are given back
 *
 * The last row is why waiting is a callback with a finalizer of its own: an interrupt that comes
 * after the limiter has said yes, and before the fiber has heard it, must not keep the units.
 */

import * as Clock from "effect/Clock";
import * as Effect from "effect/Effect";
import type * as Fiber from "effect/Fiber";

import { checkCost, checkText } from "../../core/check.ts";
import type { Clock as LimiterClock } from "../../core/clock.ts";
import type { Decision } from "../../core/decision.ts";
import { RateLimitedError } from "../../core/errors.ts";
import {
  type AsyncLimiter,
  internalsOf,
  type Limiter,
  type LimiterInternals,
  limiterOn,
} from "../../core/limiter.ts";
import { attempting, givingBackTheNewest } from "../../core/projection.ts";
import type { Store } from "../../core/store.ts";
import { withDurations } from "./decision.ts";
import type { Limit } from "./limit.ts";
import { limiterClock } from "./limiter_clock.ts";
import { type LimitMetrics, limitMetrics } from "./limit_metrics.ts";
import { RateLimited } from "./rate_limited.ts";
import { type RateLimitStoreError, storeErrorOf } from "./rate_limit_store_error.ts";
import { settled, type Thrown, thrown } from "./settled.ts";

/** A limit on a store and a clock. */
export interface BoundLimit {
  readonly limit: Limit;
  readonly limiter: Limiter | AsyncLimiter;
  readonly internals: LimiterInternals;
  readonly metrics: LimitMetrics;
}

/** An admitted call, and how to take it back. */
export interface Admission {
  /** The decision, with durations in milliseconds. */
  readonly decision: Decision;
  /** Gives the units back; what cannot be given back stays charged, the safe side. */
  readonly undo: Effect.Effect<void>;
}

/** Finds the bound form of a limit for the fiber's own clock. */
export type Binder = (
  limit: Limit,
  fiber: Fiber.Fiber<unknown, unknown>,
) => BoundLimit;

/** Binds limits to a store, once for each clock that is met. */
export function binderOn(store: Store): Binder {
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
  return { limit, limiter, internals: internalsOf(limiter)!, metrics: limitMetrics(prefix) };
}

/** A call on the store; what a store throws is a typed failure. */
export function ask<Answer>(
  call: () => Answer | Promise<Answer>,
): Effect.Effect<Answer, RateLimitStoreError> {
  return Effect.catch(settled(call), failOrDie);
}

/** What a store throws is a failure; anything else, such as a cost below 0, is a defect. */
function failOrDie({ cause }: Thrown): Effect.Effect<never, RateLimitStoreError> {
  const error = storeErrorOf(cause);
  return error === undefined ? Effect.die(cause) : Effect.fail(error);
}

/** Takes units now, or fails; the delay of a queue is not waited out. */
export function take(
  bound: BoundLimit,
  key: string,
  cost: number,
): Effect.Effect<Admission, RateLimited | RateLimitStoreError> {
  return Effect.suspend(() => {
    let freshAt: number | undefined;
    const taken = ask(() =>
      mayDelay(bound)
        ? consumeOne(bound, key, cost, (instant) => freshAt = instant)
        : bound.limiter.consume(key, cost)
    );
    return Effect.uninterruptible(Effect.flatMap(taken, (decision) => {
      const verdict = decision.allowed
        ? Effect.succeed({ decision, undo: giveBack(bound, key, cost, freshAt) })
        : Effect.fail(rateLimited(bound.limit, key, cost, decision));
      return Effect.andThen(bound.metrics.count(decision, cost), verdict);
    }));
  });
}

/** Waits for the units, in line, and for the delay of a queue. */
export function waitFor(
  bound: BoundLimit,
  key: string,
  { cost, maxWait }: { readonly cost: number; readonly maxWait: number },
): Effect.Effect<Admission, RateLimited | RateLimitStoreError> {
  const { limiter, limit, metrics } = bound;
  const undo = giveBack(bound, key, cost, undefined);
  const waiting = Effect.callback<Decision, Thrown>((resume, signal) => {
    const outcome = limiter.acquire(key, { cost, maxWait, signal });
    outcome.then(
      (decision) => resume(Effect.succeed(decision)),
      (cause) => resume(Effect.fail(thrown(cause))),
    );
    const admitted = Effect.promise(() => outcome.then(() => true, () => false));
    return Effect.flatMap(admitted, (mustUndo) => mustUndo ? undo : Effect.void);
  });

  function refused({ cause }: Thrown): Effect.Effect<never, RateLimited | RateLimitStoreError> {
    if (!(cause instanceof RateLimitedError)) return failOrDie({ cause });
    const error = rateLimited(limit, key, cost, cause.decision);
    return Effect.andThen(metrics.count(cause.decision, cost), Effect.fail(error));
  }

  function admitted(
    decision: Decision,
    milliseconds: number,
  ): Effect.Effect<Admission> {
    return Effect.as(
      Effect.andThen(metrics.count(decision, cost), metrics.waited(milliseconds)),
      { decision, undo },
    );
  }

  return Clock.clockWith((clock) =>
    Effect.uninterruptibleMask((restore) => {
      const start = clock.currentTimeMillisUnsafe();
      return Effect.matchEffect(restore(waiting), {
        onSuccess: (decision) => admitted(decision, clock.currentTimeMillisUnsafe() - start),
        onFailure: refused,
      });
    })
  );
}

/** The typed error of a refusal. */
export function rateLimited(
  { prefix }: Pick<Limit, "prefix">,
  key: string,
  cost: number,
  refusal: Decision,
): RateLimited {
  const decision = withDurations(refusal);
  return new RateLimited({ prefix, key, cost, retryAfter: decision.retryAfter, decision });
}

/** Whether an admitted call may be told to wait: then its place is one in a queue. */
function mayDelay({ limit }: BoundLimit): boolean {
  return limit.algorithm.id.includes("leakyQueue/");
}

/** Takes units, and tells when the key would be fresh: the mark of the newest place. */
function consumeOne(
  { limiter: { store }, limit: { algorithm }, internals }: BoundLimit,
  key: string,
  cost: number,
  tell: (freshAt: number) => void,
): Decision | Promise<Decision> {
  checkText("decide", "key", key);
  checkCost("consume", cost, 0);
  const stepped = attempting(algorithm, Infinity, ({ freshAt }) => tell(freshAt));
  const operation = { ...internals.operation(key, cost), algorithm: stepped };
  const answer = store.run([operation], internals.now());
  return answer instanceof Promise ? answer.then(first) : first(answer);
}

/**
 * Gives units back. The place in a queue is given back only if it is the newest, and known to be:
 * otherwise the next call would be given the newest one's, which is taken.
 */
function giveBack(
  bound: BoundLimit,
  key: string,
  cost: number,
  freshAt: number | undefined,
): Effect.Effect<void> {
  if (cost === 0) return Effect.void;
  if (!mayDelay(bound)) return Effect.ignore(ask(() => bound.limiter.refund(key, cost)));
  if (freshAt === undefined) return Effect.void;
  const { limiter: { store }, limit: { algorithm }, internals } = bound;
  return Effect.ignore(ask(() => {
    const operation = {
      ...internals.operation(key, -cost),
      algorithm: givingBackTheNewest(algorithm, freshAt),
    };
    return store.run([operation], internals.now());
  }));
}

function first(decisions: readonly Decision[]): Decision {
  return decisions[0]!;
}
