/*
 * `acquire`: checks its arguments, refuses what can never be admitted or would be one waiter too
 * many, and otherwise waits in the queue of the key.
 */

import { isPromise, type MaybePromise } from "../maybe_promise.ts";
import type { Decision } from "../decision.ts";
import { RateLimitedError } from "../errors.ts";
import {
  checkCost,
  checkOptions,
  checkText,
  type OptionNames,
  typeError,
} from "../options/checks.ts";
import { type Period, readLongestWait } from "../options/period.ts";
import { MIN_ANSWER_TIME, unanswered } from "./silence.ts";
import { type Undo, undoOf } from "../together/undo.ts";
import { givingBack } from "../verbs/settle.ts";
import { waitInQueue } from "./wait_in_queue.ts";
import { type QueueLimiter, rateLimited, type WaitRequest } from "./waiting_queue.ts";
import type { Attempt } from "../verbs/attempt.ts";
import { peek } from "../verbs/peek.ts";
import { withTimeout } from "../with_timeout.ts";

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

/** An admitted call, and the function that gives its units back. */
export interface Acquired {
  readonly decision: Decision;
  /** Gives the units back; `undefined` if there are none. */
  readonly undo: Undo | undefined;
}

/** Waits for the caller's turn and takes, as `Limiter.acquire` says; reports the verdict. */
export async function acquire(
  limiter: QueueLimiter,
  key: string,
  options?: AcquireOptions,
): Promise<Decision> {
  return (await admitted(limiter, key, false, options)).decision;
}

/** `acquire` for a caller that may give the units back. */
export async function acquireOrUndo(
  limiter: QueueLimiter,
  key: string,
  afterUndo: boolean,
  options?: AcquireOptions,
): Promise<Acquired> {
  const { decision, sight } = await admitted(limiter, key, afterUndo, options);
  const inverse = givingBack(options?.cost ?? 1, decision, sight?.mark);
  return { decision, undo: undoOf(limiter, key, inverse) };
}

async function admitted(
  limiter: QueueLimiter,
  key: string,
  afterUndo: boolean,
  options: AcquireOptions = {},
): Promise<Attempt> {
  checkText("acquire", "key", key);
  checkOptions("acquire", options, ACQUIRE_OPTIONS);
  const { cost = 1, signal, maxWait: longest = Infinity } = options;
  const maxWait = typeof longest === "number"
    ? longest
    : readLongestWait("acquire", "maxWait", longest);
  signal?.throwIfAborted();
  const request = { limiter, key, cost, maxWait, signal, afterUndo };
  try {
    const answer = cost === 0
      ? { decision: await look(request), sight: undefined }
      : await admission(request);
    limiter.report(answer.decision, key, cost);
    return answer;
  } catch (error) {
    if (error instanceof RateLimitedError) limiter.report(error.decision, key, cost);
    throw error;
  }
}

/** Waits, if the cost can be admitted at all and not too many callers wait already. */
async function admission(request: WaitRequest): Promise<Attempt> {
  const { algorithm: { capacity }, maxWaiting } = request.limiter;
  if (request.cost > capacity) {
    const rule = `cost must be at most the capacity of ${capacity}`;
    throw rateLimited(request, await look(request), rule);
  }
  const waited = waitInQueue(request);
  const admitted = isPromise(waited) ? await waited : waited;
  if (admitted !== undefined) return admitted;
  const seen = await look(request);
  // Waiting callers come first, however many units are free now, so the answer is never "at once".
  const refused = { ...seen, allowed: false, retryAfter: Math.max(1, seen.retryAfter) };
  throw rateLimited(request, refused, `at most ${maxWaiting} may wait`);
}

/** The answer of `peek`, unless the store does not answer in time. */
export function look(request: WaitRequest): MaybePromise<Decision> {
  const { limiter, key, cost, maxWait } = request;
  const answer = limiter.call(peek, key, cost);
  if (maxWait === Infinity || !isPromise(answer)) return answer;
  const late = () => {
    throw unanswered(request, "no");
  };
  return withTimeout(answer, Math.max(maxWait, MIN_ANSWER_TIME), late, limiter.after);
}
