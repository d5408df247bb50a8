/*
 * `acquire`: checks its arguments, refuses what can never be admitted or would be one waiter too
 * many, and otherwise waits in the queue of the key.
 */

import { isPromise, type MaybePromise } from "../maybe_promise.ts";
import type { Decision } from "../decision.ts";
import { RateLimitedError } from "../errors.ts";
import {
  checkCost,
  checkMilliseconds,
  checkOptions,
  checkText,
  typeError,
} from "../options/checks.ts";
import type { PreparedCalls } from "./prepare_call.ts";
import { LEAST_ANSWER_TIME, unanswered, waitInQueue } from "./wait_in_queue.ts";
import {
  type QueueLimiter,
  rateLimited,
  type WaitingQueues,
  type WaitRequest,
} from "./waiting_queue.ts";
import { withTimeout } from "../with_timeout.ts";

/** The options of `acquire`. */
export interface AcquireOptions {
  /** Units to take, an integer of at least 0; default 1. */
  readonly cost?: number | undefined;
  /** The longest wait in milliseconds, at least 0; default `Infinity`. */
  readonly maxWait?: number | undefined;
  /** Ends the wait: one that still queues has taken nothing. */
  readonly signal?: AbortSignal | undefined;
}

/** What `acquire` needs of a limiter. */
export interface AcquireState {
  readonly limiter: QueueLimiter;
  readonly calls: PreparedCalls;
  readonly queues: WaitingQueues;
  /** The instant to decide at; `undefined` for the store's own time. */
  now(): number | undefined;
  report(decision: Decision, key: string, cost: number): Decision;
}

/** Waits for one's turn and takes, as `Limiter.acquire` says; reports the verdict. */
export async function acquire(
  state: AcquireState,
  key: string,
  afterUndo: boolean,
  options: AcquireOptions = {},
): Promise<Decision> {
  checkText("acquire", "key", key);
  checkOptions<AcquireOptions>("acquire", options, { cost: true, maxWait: true, signal: true });
  const { cost = 1, maxWait = Infinity, signal } = options;
  checkCost("acquire", cost, 0);
  checkMilliseconds("acquire", "maxWait", maxWait, { infinite: true });
  checkSignal(signal);
  signal?.throwIfAborted();
  const request = { limiter: state.limiter, key, cost, maxWait, signal, afterUndo };
  try {
    const decision = cost === 0 ? await look(state, request) : await admission(state, request);
    return state.report(decision, key, cost);
  } catch (error) {
    if (error instanceof RateLimitedError) state.report(error.decision, key, cost);
    throw error;
  }
}

/** Waits, if the cost can be admitted at all and not too many wait already. */
async function admission(state: AcquireState, request: WaitRequest): Promise<Decision> {
  const { limiter: { algorithm: { capacity }, maxWaiting }, calls, queues } = state;
  if (request.cost > capacity) {
    const rule = `cost must be at most the capacity of ${capacity}`;
    throw rateLimited(request, await look(state, request), rule);
  }
  const decision = await waitInQueue(queues, calls.storedKey(request.key), request);
  if (decision !== undefined) return decision;
  const seen = await look(state, request);
  // Those who wait come first, however many units there are now; but never say at once.
  const refused = { ...seen, allowed: false, retryAfter: Math.max(1, seen.retryAfter) };
  throw rateLimited(request, refused, `at most ${maxWaiting} may wait`);
}

/** What `peek` answers, unless the store does not answer in time. */
function look(state: AcquireState, request: WaitRequest): MaybePromise<Decision> {
  const { limiter, key, cost, maxWait } = request;
  const answer: MaybePromise<Decision> = state.calls.decide(key, cost, true, state.now());
  if (maxWait === Infinity || !isPromise(answer)) return answer;
  const late = () => {
    throw unanswered(request, "no");
  };
  return withTimeout(answer, Math.max(maxWait, LEAST_ANSWER_TIME), late, limiter.after);
}

function checkSignal(signal: AbortSignal | undefined): void {
  // Not by its class: one of another realm will do.
  if (signal === undefined || typeof signal?.throwIfAborted === "function") return;
  throw typeError("acquire", "signal must be an AbortSignal", signal);
}
