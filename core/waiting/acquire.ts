/*
 * `acquire`: checks its arguments, refuses what can never be admitted or would be one waiter too
 * many, and otherwise waits in the queue of the key.
 */

import { timerOf } from "../clock.ts";
import type { Decision } from "../decision.ts";
import { RateLimitedError } from "../errors.ts";
import { type LimiterInternals, requireLimiter } from "../limiter/limiter_internals.ts";
import type { AsyncLimiter, Limiter } from "../limiter/limiter_types.ts";
import { newPermitId } from "../limiter/permit_ids.ts";
import type { Acquired } from "../limiter/take_or_undo.ts";
import { undoOf } from "../together/undo.ts";
import { andThen, isPromise, type MaybePromise } from "../maybe_promise.ts";
import {
  checkCost,
  checkOptions,
  checkText,
  type OptionNames,
  typeError,
} from "../options/checks.ts";
import { type Period, readLongestWait } from "../options/period.ts";
import { type Attempt, attempt } from "../verbs/attempt.ts";
import { peek } from "../verbs/peek.ts";
import { refund } from "../verbs/refund.ts";
import { givingBack } from "../verbs/settle.ts";
import { withTimeout } from "../with_timeout.ts";
import type { Taking, WaitRequest } from "./queue.ts";
import { MIN_ANSWER_TIME, waitInQueue } from "./wait.ts";
import { rateLimited, unanswered } from "./wait_errors.ts";

/** The options of `acquire`. */
export interface AcquireOptions {
  /** Units to take, an integer of at least 0; default 1. */
  readonly cost?: number | undefined;
  /** The longest wait: milliseconds of at least 0, or text such as `"1s"`; default `Infinity`. */
  readonly maxWait?: Period | undefined;
  /** Ends the wait. A call that is still in the queue has taken nothing. */
  readonly signal?: AbortSignal | undefined;
}

/** The options of `acquire`, and their checks. */
export const ACQUIRE_OPTIONS: OptionNames<AcquireOptions> = {
  cost: (action, _option, cost) => checkCost(action, cost as number, 0),
  maxWait: (action, option, time) => void readLongestWait(action, option, time as Period),
  signal(action, option, signal) {
    // Not checked by class, because a signal of another realm works, too.
    if (typeof (signal as Partial<AbortSignal> | null)?.throwIfAborted === "function") return;
    throw typeError(action, `${option} must be an AbortSignal`, signal);
  },
};

/**
 * Waits its turn, then takes, then waits out the decision's `delay`.
 *
 * Each key in the thread is first come, first served: only the first caller tries, nothing is
 * taken for callers that wait, and small costs do not overtake a large one. `refund` and `reset`
 * wake the first caller; on the shared store, calls in other threads wake it as well. An abort
 * while queueing charges nothing; in the delay of a `leakyQueue` only the newest place is given
 * back. At most `maxWaiting` callers of a limiter wait.
 *
 * A cost of 0 looks, and does not wait.
 *
 * @param limiter The limiter that decides.
 * @param key The key whose units are taken: a non-empty string.
 * @param options The cost, the longest wait and a signal that ends the wait.
 * @throws {RateLimitedError} At once if the queue is longer than `maxWait`, the cost is above the
 * capacity, or `maxWaiting` is reached. Later if other callers, including `consume` in this
 * thread, were faster than projected, or if a store answers that can never admit so much, such as
 * a fallback with a share of the limit.
 * @throws {StoreUnavailableError} If the store does not answer within `maxWait`, or is closed.
 * @throws The reason with which the signal was aborted.
 *
 * @example
 * ```ts
 * import { acquire, gcra, limiter } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const api = limiter(gcra({ limit: 100, period: "1s", burst: 1 }));
 * await acquire(api, "user:42");
 * const { allowed } = await acquire(api, "user:42", { maxWait: "1s" }); // some 10 ms later
 * assert.equal(allowed, true);
 * ```
 */
export async function acquire(
  limiter: Limiter | AsyncLimiter,
  key: string,
  options?: AcquireOptions,
): Promise<Decision> {
  return (await attemptInTurn(requireLimiter("acquire", limiter), key, options, false)).decision;
}

/**
 * `acquire` for a caller that may give the units back.
 *
 * @param afterUndo Whether an abort is reported only when nothing is charged any more: after a
 * call under way on the store has ended and its units are given back.
 */
export async function acquireOrUndo(
  limiter: LimiterInternals,
  key: string,
  afterUndo: boolean,
  options?: AcquireOptions,
): Promise<Acquired> {
  const { decision, sight } = await attemptInTurn(limiter, key, options, afterUndo);
  const inverse = givingBack(options?.cost ?? 1, decision, sight?.mark);
  return { decision, undo: undoOf(limiter, key, inverse) };
}

async function attemptInTurn(
  limiter: LimiterInternals,
  key: string,
  options: AcquireOptions = {},
  afterUndo: boolean,
): Promise<Attempt> {
  checkText("acquire", "key", key);
  checkOptions("acquire", options, ACQUIRE_OPTIONS);
  const { cost = 1, signal } = options;
  signal?.throwIfAborted();
  const maxWait = readMaxWait("acquire", options.maxWait ?? Infinity);
  const request: WaitRequest = { limiter, key, cost, maxWait, signal, afterUndo, taking: UNITS };
  try {
    const waited = cost === 0 ? sightless(look(request)) : admission(request);
    const answer = isPromise(waited) ? await waited : waited;
    limiter.report(answer.decision, key, cost);
    return answer;
  } catch (error) {
    if (error instanceof RateLimitedError) limiter.report(error.decision, key, cost);
    throw error;
  }
}

/** Reads a `maxWait` that was checked. */
export function readMaxWait(action: string, maxWait: Period): number {
  return typeof maxWait === "number" ? maxWait : readLongestWait(action, "maxWait", maxWait);
}

/** How a caller takes units. */
const UNITS: Taking = {
  take: ({ limiter, key, cost }, maxDelay) =>
    limiter.call(attempt, key, { cost, maxDelay, id: newPermitId() }),
  undoOf({ limiter, key, cost }, { decision, sight }) {
    const undo = undoOf(limiter, key, givingBack(cost, decision, sight?.mark));
    // An algorithm that knows no single calls gives the newest units back: those just taken.
    const isLast = undo === undefined && decision.delay === 0;
    return isLast ? () => limiter.call(refund, key, cost) : undo;
  },
  foretells: true,
  longestSleep: () => Infinity,
};

/**
 * Waits, if the cost can be admitted at all and not too many callers wait already.
 *
 * @throws {RateLimitedError} If it is refused; the promise rejects if that needs a look.
 */
export function admission(request: WaitRequest): MaybePromise<Attempt> {
  const { cost, limiter: { algorithm: { capacity } } } = request;
  if (cost > capacity) {
    const rule = `cost must be at most the capacity of ${capacity}`;
    return andThen(look(request), (seen) => {
      throw rateLimited(request, seen, rule);
    });
  }
  return andThen(waitInQueue(request), (outcome) => {
    if ("decision" in outcome) return outcome;
    return andThen(look(request), (seen) => {
      // Waiting callers come first, however many units are free now, so it is never "at once".
      const retryAfter = Math.max(1, seen.retryAfter, seen.delay);
      throw rateLimited(request, { ...seen, allowed: false, retryAfter }, outcome.rule);
    });
  });
}

function sightless(seen: MaybePromise<Decision>): MaybePromise<Attempt> {
  return andThen(seen, (decision) => ({ decision, sight: undefined }));
}

/** The answer of `peek`, unless the store does not answer in time. */
function look(request: WaitRequest): MaybePromise<Decision> {
  const { limiter, key, cost, maxWait } = request;
  const answer = limiter.call(peek, key, cost);
  if (maxWait === Infinity || !isPromise(answer)) return answer;
  const late = () => {
    throw unanswered(request, "no");
  };
  return withTimeout(answer, Math.max(maxWait, MIN_ANSWER_TIME), late, timerOf(limiter.clock));
}
