/*
 * A limit on a store, as effects.
 *
 * Calls on a store are short, and a store that answers by promises has a deadline; so they cannot be
 * interrupted, and whoever made one knows whether it was charged. Waiting can be interrupted at any
 * time, and takes back what it took:
 *
 *   while it queues              nothing has been taken; a call under way is taken back
 *   in the delay of a queue      the place is given back, if it is the newest
 *   admitted at that instant     the units are given back
 *
 * The last row is why waiting is a callback with a finalizer of its own: an interrupt that comes
 * after the limiter has said yes, and before the fiber has heard it, must not keep the units.
 */

import * as Clock from "effect/Clock";
import * as Effect from "effect/Effect";
import type * as Fiber from "effect/Fiber";

import { andThen, type MaybePromise } from "../../core/maybe_promise.ts";
import { checkCost, checkText } from "../../core/options/checks.ts";
import type { Clock as LimiterClock } from "../../core/clock.ts";
import type { Decision } from "../../core/decision.ts";
import { RateLimitedError } from "../../core/errors.ts";
import {
  type AsyncLimiter,
  internalsOf,
  type Limiter,
  type LimiterInternals,
  limiterOn,
} from "../../core/limiter/limiter.ts";
import { refundingNewest, withMaxDelay } from "../../core/limiter/projection.ts";
import type { Store } from "../../core/store.ts";
import { refundUnits } from "../http/gate/refund_units.ts";
import { withDurations } from "./decision.ts";
import type { Limit } from "./limit.ts";
import { limiterClock } from "./limiter_clock.ts";
import { type LimitMetrics, limitMetrics } from "./limit_metrics.ts";
import { RateLimited } from "./rate_limited.ts";
import { type RateLimitStoreError, storeErrorOf } from "./rate_limit_store_error.ts";
import { type SpanAttributes, whenSettled } from "./settled.ts";

/** A limit on a store and a clock. */
export interface BoundLimit {
  readonly limit: Limit;
  readonly limiter: Limiter | AsyncLimiter;
  readonly internals: LimiterInternals;
  readonly metrics: LimitMetrics;
  /** What spans say of it. The key is not among that: it may be a secret. */
  readonly attributes: SpanAttributes;
}

/** An admitted call, and how to take it back. */
export interface Admission {
  /** The decision, with durations in milliseconds. */
  readonly decision: Decision;
  /**
   * Gives the units back, as far as they have not been renewed since; what cannot be given back
   * stays charged, the safe side.
   */
  readonly undo: Effect.Effect<void>;
}

/** What a fiber waits with. */
export interface WaitOptions {
  readonly cost: number;
  /** The longest wait in milliseconds; may be `Infinity`. */
  readonly maxWait: number;
  /** Makes the wait interruptible; by default as the caller is. */
  readonly restore?: (<A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>) | undefined;
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

/** Notes a verdict: counts it, and makes it an event of the span at hand. */
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

/** Takes units now, or fails; the delay of a queue is not waited out. */
export function take(
  fiber: Fiber.Fiber<unknown, unknown>,
  bound: BoundLimit,
  verb: string,
  key: string,
  cost: number,
): Effect.Effect<Admission, RateLimited> {
  let freshAt: number | undefined;
  const answer = mayDelay(bound)
    ? consumeOne(bound, key, cost, (instant) => freshAt = instant)
    : bound.limiter.consume(key, cost);

  function tell(decision: Decision): Effect.Effect<Admission, RateLimited> {
    recordVerdict(fiber, bound, verb, decision, cost);
    return decision.allowed
      ? Effect.succeed({ decision, undo: undoOf(fiber, bound, key, cost, decision, freshAt) })
      : Effect.fail(rateLimited(bound.limit, key, cost, decision));
  }

  return Effect.uninterruptible(whenSettled(answer, tell, `RateLimiter.${verb}`, bound.attributes));
}

/** Waits for the units, in line, and for the delay of a queue. */
export function waitFor(
  fiber: Fiber.Fiber<unknown, unknown>,
  bound: BoundLimit,
  verb: string,
  key: string,
  { cost, maxWait, restore }: WaitOptions,
): Effect.Effect<Admission, RateLimited | RateLimitStoreError> {
  const { internals, limit, attributes, metrics } = bound;
  const undo = (decision: Decision) => undoOf(fiber, bound, key, cost, decision, undefined);
  // A refusal is an answer here: as an error it would put the key, which it names, into the span.
  const waiting = Effect.callback<Decision | RateLimitedError>((resume, signal) => {
    const outcome = internals.acquireOrUndo(key, { cost, maxWait, signal });
    outcome.then(
      (decision) => resume(Effect.succeed(decision)),
      (cause) =>
        resume(cause instanceof RateLimitedError ? Effect.succeed(cause) : Effect.die(cause)),
    );
    const ended = Effect.promise(() => outcome.then(undo, () => Effect.void));
    return Effect.flatten(ended);
  });
  const clock = fiber.getRef(Clock.Clock);
  const start = clock.currentTimeMillisUnsafe();

  function told(
    outcome: Decision | RateLimitedError,
  ): Effect.Effect<Admission, RateLimited> {
    if (outcome instanceof RateLimitedError) {
      recordVerdict(fiber, bound, verb, outcome.decision, cost);
      return Effect.fail(rateLimited(limit, key, cost, outcome.decision));
    }
    recordVerdict(fiber, bound, verb, outcome, cost);
    metrics.waited(clock.currentTimeMillisUnsafe() - start, fiber.context);
    return Effect.succeed({ decision: outcome, undo: undo(outcome) });
  }

  return Effect.uninterruptibleMask((own) =>
    Effect.flatMap(
      Effect.catchDefect(
        Effect.withSpan((restore ?? own)(waiting), `RateLimiter.${verb}`, { attributes }),
        failOrDie,
      ),
      told,
    )
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
): MaybePromise<Decision> {
  checkText("decide", "key", key);
  checkCost("consume", cost, 0);
  const stepped = withMaxDelay(algorithm, Infinity, ({ freshAt }) => tell(freshAt));
  const operation = { ...internals.operation(key, cost), algorithm: stepped };
  return andThen<readonly Decision[], Decision>(
    store.run([operation], internals.now()),
    (decisions) => decisions[0]!,
  );
}

/**
 * Gives units back, as far as they are there. The place in a queue is given back only if it is the
 * newest, and known to be: otherwise the next call would be given the newest one's, which is taken.
 */
function undoOf(
  fiber: Fiber.Fiber<unknown, unknown>,
  bound: BoundLimit,
  key: string,
  cost: number,
  decision: Decision,
  freshAt: number | undefined,
): Effect.Effect<void> {
  // A failure policy has taken nothing.
  if (cost === 0 || decision.source === "policy") return Effect.void;
  const { limiter, limit: { algorithm }, internals, attributes } = bound;
  if (mayDelay(bound) && freshAt === undefined) return Effect.void;
  const clock = fiber.getRef(Clock.Clock);
  const takenAt = clock.currentTimeMillisUnsafe();
  const given = storeEffect(() => {
    const answer = freshAt === undefined
      ? refundUnits(limiter, key, cost, decision, clock.currentTimeMillisUnsafe() - takenAt)
      : limiter.store.run([{
        ...internals.operation(key, -cost),
        algorithm: refundingNewest(algorithm, freshAt),
      }], internals.now());
    return whenSettled<unknown, void, never>(
      answer,
      () => Effect.void,
      "RateLimiter.refund",
      attributes,
    );
  });
  return Effect.ignore(given);
}
