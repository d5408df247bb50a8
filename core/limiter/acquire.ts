/*
 * `acquire`: checks its arguments, refuses what can never be admitted or would be one waiter too
 * many, and otherwise waits in the queue of the key.
 */

import { andThen } from "../maybe_promise.ts";
import type { Decision } from "../decision.ts";
import { RateLimitedError } from "../errors.ts";
import {
  checkCost,
  checkMilliseconds,
  checkOptions,
  checkText,
  errorMessage,
} from "../options/checks.ts";
import type { PreparedCalls } from "./prepare_call.ts";
import { rateLimited } from "./rate_limited.ts";
import { waitInQueue } from "./wait_in_queue.ts";
import type { QueueLimiter, WaitingQueues, WaitRequest } from "./waiting_queue.ts";

/** The options of `acquire`. */
export interface AcquireOptions {
  /** Units to take, an integer of at least 0; default 1. */
  readonly cost?: number | undefined;
  /** The longest wait in milliseconds, at least 0; default `Infinity`. */
  readonly maxWait?: number | undefined;
  /** Ends the wait: one that still queues has taken nothing. */
  readonly signal?: AbortSignal | undefined;
}

/** What `acquire` needs of a limiter, and how many of its callers wait. */
export interface AcquireState {
  readonly limiter: QueueLimiter;
  readonly calls: PreparedCalls;
  readonly queues: WaitingQueues;
  readonly maxWaiting: number;
  /** The callers that wait now. */
  waiting: number;
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
  checkOptions("acquire", options);
  const { cost = 1, maxWait = Infinity, signal } = options;
  checkCost("acquire", cost, 0);
  checkMilliseconds("acquire", "maxWait", maxWait, { infinite: true });
  checkSignal(signal);
  signal?.throwIfAborted();
  if (cost === 0) return andThen(look(state, key, 0), (seen) => state.report(seen, key, 0));
  try {
    const request = { limiter: state.limiter, key, cost, maxWait, signal, afterUndo };
    return state.report(await admission(state, request), key, cost);
  } catch (error) {
    if (error instanceof RateLimitedError) state.report(error.decision, key, cost);
    throw error;
  }
}

/** Waits, if the cost can be admitted at all and not too many wait already. */
async function admission(state: AcquireState, request: WaitRequest): Promise<Decision> {
  const { limiter: { algorithm: { capacity } }, calls, queues, maxWaiting } = state;
  const { key, cost } = request;
  if (cost > capacity) {
    const rule = `cost must be at most the capacity of ${capacity}`;
    throw rateLimited(request, await look(state, key, cost), rule);
  }
  if (state.waiting >= maxWaiting) {
    const seen = await look(state, key, cost);
    // Of another key's queue nothing can be projected; but never say at once.
    const refused = { ...seen, allowed: false, retryAfter: Math.max(1, seen.retryAfter) };
    throw rateLimited(request, refused, `at most ${maxWaiting} may wait`);
  }
  state.waiting++;
  try {
    return await waitInQueue(queues, calls.storedKey(key), request);
  } finally {
    state.waiting--;
  }
}

function look({ calls, now }: AcquireState, key: string, cost: number): Decision {
  return calls.decide(key, cost, true, now());
}

function checkSignal(signal: AbortSignal | undefined): void {
  // Not by its class: one of another realm will do.
  if (signal === undefined || typeof signal?.throwIfAborted === "function") return;
  throw new TypeError(errorMessage("acquire", "signal must be an AbortSignal", signal));
}
