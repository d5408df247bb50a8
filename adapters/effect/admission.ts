/*
 * Admissions: taking units now, or waiting for them, and how to take that back.
 *
 * Calls on a store are short, and a store that answers by promises has a deadline; so they cannot
 * be interrupted, and the caller knows whether a call was charged. Waiting can be interrupted at
 * any time, and takes back what it took:
 *
 *   while it queues              nothing has been taken; a call under way is taken back
 *   in the delay of a queue      the place is given back, if it is the newest
 *   admitted at that instant     the units are given back
 *
 * The last row is why waiting is a callback with a finalizer of its own: an interrupt that comes
 * after the limiter has admitted, and before the fiber has received that, must not keep the units.
 */

import * as Clock from "effect/Clock";
import * as Effect from "effect/Effect";
import type * as Fiber from "effect/Fiber";

import type { Decision } from "../../core/decision.ts";
import { RateLimitedError } from "../../core/errors.ts";
import { type Acquired, takeOrUndo } from "../../core/limiter/take_or_undo.ts";
import { acquireOrUndo } from "../../core/waiting/acquire.ts";
import { andThen, type MaybePromise } from "../../core/maybe_promise.ts";
import { checkCost, checkText } from "../../core/options/checks.ts";
import { type BoundLimit, callStore, failed, recordVerdict, storeFailure } from "./bound_limit.ts";
import { withDurations } from "./decision.ts";
import { RateLimited, RateLimitError } from "./errors.ts";
import type { Limit } from "./limit.ts";

/** An admitted call, and how to take it back. */
export interface Admission {
  /** The decision, with durations in milliseconds. */
  readonly decision: Decision;
  /**
   * Gives back the units as far as they still count; to be run once. Units that cannot be given back
   * stay charged, which is the safe side.
   */
  readonly undo: Effect.Effect<void>;
}

/**
 * A call for units: the fiber and the function of the service that make it, and the owner of the
 * units.
 */
export interface UnitsCall {
  readonly fiber: Fiber.Fiber<unknown, unknown>;
  readonly bound: BoundLimit;
  readonly verb: string;
  readonly key: string;
  readonly cost: number;
}

/**
 * Takes units now, or fails; the delay of a queue is not waited out.
 *
 * @param keeps Whether the units may be given back.
 */
export function take(call: UnitsCall, keeps: boolean): Effect.Effect<Admission, RateLimitError> {
  const { bound, verb } = call;
  const taken = callStore(
    () => keeps ? takeChecked(call) : consume(call),
    (acquired) => settled(call, acquired),
    storeFailure,
    `RateLimiter.${verb}`,
    bound.attributes,
  );
  return Effect.uninterruptible(taken);
}

/**
 * Waits for the units, in the queue, and for the delay of a queue.
 *
 * @param maxWait The longest wait in milliseconds; may be `Infinity`.
 * @param restore Makes the wait interruptible; by default it is as interruptible as the caller.
 */
export function waitFor(
  call: UnitsCall,
  maxWait: number,
  restore?: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>,
): Effect.Effect<Admission, RateLimitError> {
  const { fiber, bound: { attributes, metrics }, verb } = call;
  const clock = fiber.getRef(Clock.Clock);
  const start = clock.currentTimeMillisUnsafe();

  function admitted(
    outcome: Acquired | RateLimitedError,
  ): Effect.Effect<Admission, RateLimitError> {
    if (outcome instanceof RateLimitedError) return refused(call, outcome.decision);
    metrics.waited(clock.currentTimeMillisUnsafe() - start, fiber.context);
    return settled(call, outcome);
  }

  return Effect.uninterruptibleMask((own) => {
    const waiting = (restore ?? own)(waitInQueue(call, maxWait));
    const traced = Effect.withSpan(waiting, `RateLimiter.${verb}`, { attributes });
    return Effect.flatMap(traced, admitted);
  });
}

/** Records the answer of a store: an admission, which can be taken back, or a refusal. */
function settled(
  call: UnitsCall,
  acquired: Acquired,
): Effect.Effect<Admission, RateLimitError> {
  const { decision } = acquired;
  if (!decision.allowed) return refused(call, decision);
  recordVerdict(call.fiber, call.bound, call.verb, decision, call.cost);
  return Effect.succeed({ decision, undo: undo(call, acquired) });
}

/** Records a refusal, and fails with it. */
function refused(
  { fiber, bound, verb, key, cost }: UnitsCall,
  refusal: Decision,
): Effect.Effect<never, RateLimitError> {
  recordVerdict(fiber, bound, verb, refusal, cost);
  return Effect.fail(refusalError(bound.limit, key, cost, refusal));
}

/** The error of a refused call. */
export function refusalError(
  { prefix }: Limit,
  key: string,
  cost: number,
  refusal: Decision,
): RateLimitError {
  const decision = withDurations(refusal);
  const { retryAfter } = decision;
  return new RateLimitError({
    reason: new RateLimited({ prefix, key, cost, retryAfter, decision }),
  });
}

/**
 * Waits by the limiter's own queue; an interrupt waits until nothing is taken any more.
 *
 * A refusal is an answer here: as an error it would put the key, which it names, into the span.
 */
function waitInQueue(
  call: UnitsCall,
  maxWait: number,
): Effect.Effect<Acquired | RateLimitedError, RateLimitError> {
  const { bound, key, cost } = call;
  return Effect.callback((resume, signal) => {
    const outcome = acquireOrUndo(bound.internals, key, true, { cost, maxWait, signal });
    outcome.then(
      (acquired) => resume(Effect.succeed(acquired)),
      (cause) => resume(cause instanceof RateLimitedError ? Effect.succeed(cause) : failed(cause)),
    );
    const undone = (acquired: Acquired) => undo(call, acquired);
    return Effect.flatten(Effect.promise(() => outcome.then(undone, () => Effect.void)));
  });
}

/** Consumes units that are never given back. */
function consume({ bound, key, cost }: UnitsCall): MaybePromise<Acquired> {
  const answer: MaybePromise<Decision> = bound.limiter.consume(key, cost);
  return andThen(answer, (decision) => ({ decision, undo: undefined }));
}

function takeChecked({ bound: { internals }, key, cost }: UnitsCall): MaybePromise<Acquired> {
  checkText("decide", "key", key);
  checkCost("consume", cost, 0);
  return takeOrUndo(internals, key, cost);
}

/** Gives back the units that still count. */
function undo(
  { bound: { attributes } }: UnitsCall,
  { undo: giveBack }: Acquired,
): Effect.Effect<void> {
  if (giveBack === undefined) return Effect.void;
  const givenBack = () => Effect.void;
  return Effect.ignore(
    callStore(giveBack, givenBack, storeFailure, "RateLimiter.refund", attributes),
  );
}
