/*
 * The callers that wait for one key, as a value, and its changes: who joins, leaves or is admitted,
 * what a refusal has shown, and who is refused as no turn will come in time. Nothing here waits or
 * calls a store; `wait_in_queue.ts` does.
 *
 * Whether a caller with a `maxWait` can be served in time is projected when it joins, and again when
 * the head was refused otherwise than projected: from the state that the head's last refusal saw,
 * all who wait are admitted one after the other, as a fold of the reducer. Each one's projection is
 * kept, so that a joiner costs one step; all are made anew when the clock that decides has stepped
 * back. Where another store answers, or a failure policy, only the head's own wait is known: whoever
 * has no time for that is refused.
 */

import type { Algorithm } from "../algorithm.ts";
import type { MaybePromise } from "../maybe_promise.ts";
import type { Decision } from "../decision.ts";
import { type Attempt, projectAdmission, type Projection, type StateAt } from "./projection.ts";
import { rateLimited } from "./rate_limited.ts";

/** What a queue needs of a limiter. */
export interface QueueLimiter {
  readonly algorithm: Algorithm;
  /** Time that passes as waits do, whatever steps the clock takes that decides. */
  passing(): number;
  /** Calls back after so many milliseconds have passed; returns what cancels it. */
  after(milliseconds: number, wake: () => void): () => void;
  /** Runs one operation on one of the limiter's keys. */
  run(key: string, algorithm: Algorithm, cost: number): MaybePromise<Decision>;
}

/** Who waits for what. */
export interface WaitRequest {
  readonly limiter: QueueLimiter;
  /** The limiter's key. */
  readonly key: string;
  readonly cost: number;
  /** The longest wait in milliseconds; may be `Infinity`. */
  readonly maxWait: number;
  readonly signal: AbortSignal | undefined;
  /** Whether an abort is reported only when what was taken meanwhile has been given back. */
  readonly afterUndo: boolean;
}

/** An admitted call, and its place if it has to wait for its start. */
export interface Admission {
  readonly decision: Decision;
  readonly delayed: DelayedCall | undefined;
}

/** A caller in a queue. */
export interface Waiter {
  readonly request: WaitRequest;
  /** When it will have waited for long enough, in the time that passes; may be `Infinity`. */
  readonly deadline: number;
  /** Its admission, and the state after it, if those before it are admitted first. */
  projection: Projection | undefined;
  readonly admit: (admission: Admission) => void;
  readonly fail: (reason: unknown) => void;
  /** Fails one that left during its call, once that has ended; only after it left so. */
  onAttemptEnd: (() => void) | undefined;
}

/** The state that projections start from, and how to know the store's time from then on. */
export interface ObservedState extends StateAt {
  /** By whose time that passes. */
  readonly limiter: QueueLimiter;
  /** How far the store's clock was ahead of that. */
  readonly ahead: number;
}

/** A charged call that waits for its start. */
export interface DelayedCall {
  /** The instant, in the store's time, at which the key was fresh after this call. */
  readonly freshAt: number;
  readonly cost: number;
  /** Whether its caller has left. */
  cancelled: boolean;
}

/** The callers that wait for one key. */
export interface WaitingQueue {
  /** Not charged; the first one is the head. */
  readonly waiting: Waiter[];
  /** Charged, and sleeping out their delay, in the order of their places. */
  readonly delayed: DelayedCall[];
  /** How many of `waiting` have a deadline. */
  withDeadline: number;
  /** What the head's last refusal saw; undefined when it was not kept, or is out of date. */
  observed: ObservedState | undefined;
  /** How many of `waiting`, from the head on, have a projection that still holds. */
  projected: number;
  /** Whether heads are being served. */
  serving: boolean;
  /** Whether the head's call is under way: nothing is projected from what it may be changing. */
  headInFlight: boolean;
  /** Whether units were given back since the head's call was sent: it must not sleep on its answer. */
  refunded: boolean;
  /** Ends the head's sleep; only while it sleeps. */
  wake: (() => void) | undefined;
}

/** The queues of one store, by stored key. */
export type WaitingQueues = Map<string, WaitingQueue>;

/** A store's clock that is further behind than projected, in milliseconds, has stepped back. */
const LARGEST_JITTER = 100;

/** The queue of a stored key; opened if there is none. */
export function queueFor(queues: WaitingQueues, stored: string): WaitingQueue {
  const known = queues.get(stored);
  if (known !== undefined) return known;
  const queue: WaitingQueue = {
    waiting: [],
    delayed: [],
    withDeadline: 0,
    observed: undefined,
    projected: 0,
    serving: false,
    headInFlight: false,
    refunded: false,
    wake: undefined,
  };
  queues.set(stored, queue);
  return queue;
}

/** Closes a queue that nobody is in. */
export function dropIfEmpty(queues: WaitingQueues, stored: string, queue: WaitingQueue): void {
  if (queue.waiting.length > 0 || queue.delayed.length > 0 || queue.serving) return;
  if (queues.get(stored) === queue) queues.delete(stored);
}

/** Lets the head try again, as it may be admitted sooner than was projected. */
export function wakeHead(queue: WaitingQueue): void {
  queue.refunded = true;
  forgetState(queue);
  queue.wake?.();
}

/** Adds a waiter at the end. */
export function enqueue(queue: WaitingQueue, waiter: Waiter): void {
  queue.waiting.push(waiter);
  if (waiter.deadline < Infinity) queue.withDeadline++;
}

/** Takes a waiter out of the queue, if it is in it. */
export function dequeue(queue: WaitingQueue, waiter: Waiter): void {
  const index = queue.waiting.indexOf(waiter);
  if (index === -1) return;
  queue.waiting.splice(index, 1);
  if (waiter.deadline < Infinity) queue.withDeadline--;
  queue.projected = Math.min(queue.projected, index);
  if (index === 0) queue.wake?.();
}

/** Admits the head, and gives it a place among those that wait for their start, if it has to. */
export function admitHead(
  queue: WaitingQueue,
  decision: Decision,
  attempt: Attempt | undefined,
): void {
  const head = queue.waiting.shift()!;
  if (head.deadline < Infinity) queue.withDeadline--;
  const isProjected = queue.projected > 0 && decision.source === undefined;
  queue.observed = isProjected ? { ...queue.observed!, ...head.projection! } : undefined;
  queue.projected = isProjected ? queue.projected - 1 : 0;
  let delayed: DelayedCall | undefined;
  if (attempt !== undefined && decision.delay > 0) {
    delayed = { freshAt: attempt.freshAt, cost: head.request.cost, cancelled: false };
    queue.delayed.push(delayed);
  }
  head.admit({ decision, delayed });
}

/**
 * Keeps what a refused head saw, unless all is as projected or nobody has a deadline.
 *
 * @param attempt What it saw; `undefined` if the limiter's own store did not answer.
 */
export function observeRefusal(
  queue: WaitingQueue,
  { request, projection }: Waiter,
  decision: Decision,
  attempt: Attempt | undefined,
): void {
  if (attempt === undefined) return refuseLate(queue, decision);
  const asProjected = queue.projected > 0 && projection!.at === attempt.at + decision.retryAfter;
  if (asProjected && storeTime(queue.observed!) - attempt.at <= LARGEST_JITTER) return;
  forgetState(queue);
  // Where a deadline has come up since the call was sent, its state was not kept: the head tries
  // again.
  if (queue.withDeadline === 0 || attempt.refusedState === undefined) return;
  queue.observed = {
    ...attempt.refusedState,
    limiter: request.limiter,
    ahead: attempt.at - passing(request),
  };
}

/** Refuses those whose time is up before the head may try again: nothing else is known. */
function refuseLate(queue: WaitingQueue, decision: Decision): void {
  forgetState(queue);
  for (const waiter of [...queue.waiting]) {
    if (isTooLate(waiter, decision.retryAfter)) waiter.fail(rateLimited(waiter.request, decision));
  }
}

/** Refuses those who could not start in time, as far as can be projected. */
export function refuseHopeless(queue: WaitingQueue): void {
  const { observed, waiting } = queue;
  if (queue.headInFlight || queue.withDeadline === 0) return;
  // Without a state the head tries again, to see one.
  if (observed === undefined) return queue.wake?.();
  while (queue.projected < waiting.length) {
    const waiter = waiting[queue.projected]!;
    const { limiter: { algorithm }, cost } = waiter.request;
    const from = queue.projected === 0 ? observed : waiting[queue.projected - 1]!.projection!;
    const instant = Math.max(0, storeTime(observed));
    const projection = projectAdmission(algorithm, from, instant, cost);
    if (isTooLate(waiter, projection.wait)) {
      const [look] = algorithm.step(observed.state, instant, 0);
      const refusal = { ...look, allowed: false, retryAfter: projection.wait };
      waiter.fail(rateLimited(waiter.request, refusal));
    } else {
      waiter.projection = projection;
      queue.projected++;
    }
  }
}

/** The milliseconds that a waiter has left. */
export function timeLeft({ request, deadline }: Waiter): number {
  return Math.max(0, deadline - passing(request));
}

/** Whether so long a wait from now would end after the deadline. Waits are whole milliseconds. */
function isTooLate({ request, deadline }: Waiter, wait: number): boolean {
  return passing(request) + wait > deadline;
}

function forgetState(queue: WaitingQueue): void {
  queue.projected = 0;
  queue.observed = undefined;
}

/** The store's time, as far as is known. */
function storeTime(observed: ObservedState): number {
  return passing(observed) + observed.ahead;
}

/** The whole milliseconds that have passed, from an instant of no meaning. */
function passing({ limiter }: { readonly limiter: QueueLimiter }): number {
  return Math.floor(limiter.passing());
}
