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
import type { Decision } from "../decision.ts";
import { RateLimitedError } from "../errors.ts";
import type { MaybePromise } from "../maybe_promise.ts";
import type { Verb, WatchedKey } from "../store.ts";
import { LAST_INSTANT } from "../options/checks.ts";
import type { Sight, StateAt } from "../verbs/attempt.ts";

/** What waiting needs of a limiter. */
export interface QueueLimiter {
  readonly algorithm: Algorithm;
  /** The queues of its store. */
  readonly queues: WaitingQueues;
  /** The most of its callers that may wait. */
  readonly maxWaiting: number;
  /** How many of them wait. */
  waiting: number;
  /** Time that passes as waits do, whatever steps the clock takes that decides. */
  passing(): number;
  /** Calls back after so many milliseconds have passed; returns what cancels it. */
  after(milliseconds: number, wake: () => void): () => void;
  /** Runs a verb on one of the limiter's keys; what gives units back wakes the key's queue. */
  call<Argument, Answer>(
    verb: Verb<Argument, Answer>,
    key: string,
    argument: Argument,
  ): MaybePromise<Answer>;
  /** The name of a key in its store. */
  nameOf(key: string): string;
  /** Reports a verdict to the limiter's `onDecision`. */
  report(decision: Decision, key: string, cost: number): Decision;
  /** Watches a key for units that other threads give back, if the store can. */
  watch(key: string): WatchedKey | undefined;
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

/** An admission to come: the state after it, and when it is. */
export interface Projection extends StateAt {
  /** Milliseconds until the call starts. */
  readonly wait: number;
}

/** A caller in a queue. */
export interface Waiter extends WaitRequest {
  /** When it will have waited for long enough, in the time that passes; may be `Infinity`. */
  readonly deadline: number;
  /** Whether it is one of the `waiting` of its limiter: it, or one before it, was refused. */
  counted: boolean;
  /** Its admission, and the state after it, if those before it are admitted first. */
  projection: Projection | undefined;
  /** Once it is charged and waits for its start: what marks the newest place, see `Sight`. */
  freshAt: number | undefined;
  /** Whether it has left its place, which could not be given back yet. */
  cancelled: boolean;
  /** Cancels its sleep until it starts. */
  wake(): void;
  /** Ends the wait: it may start, or too many wait (`undefined`). */
  readonly resolve: (decision: Decision | undefined) => void;
  /** Ends the wait: it failed. */
  readonly reject: (reason: unknown) => void;
}

/** The state that projections start from, and how to know the store's time from then on. */
export interface ObservedState extends StateAt {
  /** By whose time that passes. */
  readonly limiter: QueueLimiter;
  /** How far the store's clock was ahead of that. */
  readonly ahead: number;
}

/** A call of the head that is under way. */
export interface HeadCall {
  readonly waiter: Waiter;
  /** The key, watched since before it was sent. */
  watched: WatchedKey | undefined;
  /** Whether units were given back since it was sent: the head must not sleep on its answer. */
  outdated: boolean;
  /** When it was sent, in the time that passes. */
  readonly sentAt: number;
  /** Called when it has ended, and what it took for one who left is given back. */
  onEnd(): void;
}

/** The callers that wait for one key. */
export interface WaitingQueue {
  /** Not charged; the first one is the head. */
  readonly waiting: Waiter[];
  /** Charged, and sleeping out their delay, in the order of their places. */
  readonly delayed: Waiter[];
  /** How many of `waiting` have a deadline. */
  withDeadline: number;
  /** What the head's last refusal saw; undefined when it was not kept, or is out of date. */
  observed: ObservedState | undefined;
  /** How many of `waiting`, from the head on, have a projection that still holds. */
  projected: number;
  /** The head's call that is under way: nothing is projected from what it may be changing. */
  call: HeadCall | undefined;
  /** Cancels the head's sleep; only while it sleeps. */
  sleep: (() => void) | undefined;
  /** Forgets the queue, when nobody is in it. */
  close(): void;
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
    call: undefined,
    sleep: undefined,
    close() {
      if (queues.get(stored) === queue) queues.delete(stored);
    },
  };
  queues.set(stored, queue);
  return queue;
}

/** Lets the head try again, as it may be admitted sooner than was projected. */
export function wakeHead(queue: WaitingQueue): void {
  if (queue.call !== undefined) queue.call.outdated = true;
  forgetState(queue);
  endSleep(queue);
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
  uncount(waiter);
  if (index === 0) endSleep(queue);
}

/** Takes a waiter out of the queue, and fails it. */
export function fail(queue: WaitingQueue, waiter: Waiter, reason: unknown): void {
  dequeue(queue, waiter);
  waiter.reject(reason);
}

/** Takes the admitted head out of the queue; returns whether it has to wait for its start. */
export function admitHead(
  queue: WaitingQueue,
  decision: Decision,
  sight: Sight | undefined,
): boolean {
  const head = queue.waiting.shift()!;
  if (head.deadline < Infinity) queue.withDeadline--;
  const isProjected = queue.projected > 0 && decision.source === undefined;
  queue.observed = isProjected ? { ...queue.observed!, ...head.projection! } : undefined;
  queue.projected = isProjected ? queue.projected - 1 : 0;
  if (sight === undefined || decision.delay === 0) {
    uncount(head);
    return false;
  }
  count(head);
  head.freshAt = sight.freshAt;
  queue.delayed.push(head);
  return true;
}

/** Counts a waiter among those of its limiter. */
function count(waiter: Waiter): void {
  if (waiter.counted) return;
  waiter.counted = true;
  waiter.limiter.waiting++;
}

/** Takes a waiter from the count again. */
export function uncount(waiter: Waiter): void {
  if (!waiter.counted) return;
  waiter.counted = false;
  waiter.limiter.waiting--;
}

/** Whether a caller may wait: it does already, or its limiter has room for one more. */
export function mayWait({ counted, limiter }: Waiter): boolean {
  return counted || limiter.waiting < limiter.maxWaiting;
}

/**
 * Counts all who wait, as their head was refused; those for whom there is no room leave. Who comes
 * while the first call of a head is under way may not have to wait, and is not counted before.
 */
export function countWaiting(queue: WaitingQueue): void {
  const { waiting } = queue;
  let index = waiting.length;
  while (index > 0 && !waiting[index - 1]!.counted) index--;
  while (index < waiting.length) {
    const waiter = waiting[index]!;
    if (mayWait(waiter)) {
      count(waiter);
      index++;
    } else {
      dequeue(queue, waiter);
      waiter.resolve(undefined);
    }
  }
}

/**
 * Keeps what a refused head saw, unless all is as projected or nobody has a deadline.
 *
 * @param sight What it saw; `undefined` if the limiter's own store did not answer.
 */
export function observeRefusal(
  queue: WaitingQueue,
  waiter: Waiter,
  decision: Decision,
  sight: Sight | undefined,
): void {
  if (sight === undefined) return refuseLate(queue, decision);
  const asProjected = queue.projected > 0 &&
    waiter.projection!.at === sight.at + decision.retryAfter;
  if (asProjected && storeTime(queue.observed!) - sight.at <= LARGEST_JITTER) return;
  forgetState(queue);
  if (sight.refusedState === undefined) return;
  queue.observed = {
    ...sight.refusedState,
    limiter: waiter.limiter,
    ahead: sight.at - passing(waiter),
  };
}

/** Refuses those whose time is up before the head may try again: nothing else is known. */
function refuseLate(queue: WaitingQueue, decision: Decision): void {
  forgetState(queue);
  for (const waiter of [...queue.waiting]) {
    if (!isTooLate(waiter, decision.retryAfter)) continue;
    fail(queue, waiter, rateLimited(waiter, decision));
  }
}

/** Refuses those who could not start in time, as far as can be projected. */
export function refuseByProjection(queue: WaitingQueue): void {
  const { observed, waiting } = queue;
  if (queue.withDeadline === 0) return;
  // Without a state the head tries again, to see one.
  if (observed === undefined) return endSleep(queue);
  while (queue.projected < waiting.length) {
    const waiter = waiting[queue.projected]!;
    const { limiter: { algorithm }, cost } = waiter;
    const from = queue.projected === 0 ? observed : waiting[queue.projected - 1]!.projection!;
    const instant = Math.max(0, storeTime(observed));
    const projection = projectAdmission(algorithm, from, instant, cost);
    if (isTooLate(waiter, projection.wait)) {
      const [look] = algorithm.step(observed.state, instant, 0);
      const refusal = { ...look, allowed: false, retryAfter: projection.wait };
      fail(queue, waiter, rateLimited(waiter, refusal));
    } else {
      waiter.projection = projection;
      queue.projected++;
    }
  }
}

/** Admits a call as soon as it can be, if nothing else happens before. */
function projectAdmission(
  algorithm: Algorithm,
  from: StateAt,
  now: number,
  cost: number,
): Projection {
  let at = Math.max(from.at, now);
  if (at > LAST_INSTANT) return { state: from.state, at: Infinity, wait: Infinity };
  let [decision, state] = algorithm.step(from.state, at, cost);
  if (!decision.allowed) {
    at += decision.retryAfter;
    if (!(at <= LAST_INSTANT)) return { state: from.state, at: Infinity, wait: Infinity };
    [decision, state] = algorithm.step(from.state, at, cost);
  }
  return { state, at, wait: at - now + decision.delay };
}

/** The error of an `acquire` that is refused: what was requested, and when it could be admitted. */
export function rateLimited(
  { key, cost }: Pick<WaitRequest, "key" | "cost">,
  decision: Decision,
  rule = "its turn must come within maxWait",
): RateLimitedError {
  const wait = decision.retryAfter === Infinity
    ? "it would never come"
    : `it would come in ${decision.retryAfter} ms`;
  return new RateLimitedError(
    `Cannot acquire ${cost} of ${JSON.stringify(key)} as ${rule}: ${wait}`,
    decision,
  );
}

/** The milliseconds that a waiter has left. */
export function timeLeft(waiter: Waiter): number {
  return Math.max(0, waiter.deadline - passing(waiter));
}

/** Whether so long a wait from now would end after the deadline. Waits are whole milliseconds. */
function isTooLate(waiter: Waiter, wait: number): boolean {
  return passing(waiter) + wait > waiter.deadline;
}

function forgetState(queue: WaitingQueue): void {
  queue.projected = 0;
  queue.observed = undefined;
}

function endSleep(queue: WaitingQueue): void {
  queue.sleep?.();
  queue.sleep = undefined;
}

/** The store's time, as far as is known. */
function storeTime(observed: ObservedState): number {
  return passing(observed) + observed.ahead;
}

/** The whole milliseconds that have passed, from an instant of no meaning. */
function passing({ limiter }: { readonly limiter: QueueLimiter }): number {
  return Math.floor(limiter.passing());
}
