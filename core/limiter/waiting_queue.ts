/*
 * The callers that wait for one key, as a value, and its changes: who joins, leaves or is admitted.
 * A change costs the same no matter how many callers wait, because callers contain their own links,
 * and their deadlines are in a heap. Nothing here waits or calls a store; `wait_in_queue.ts` does.
 */

import type { Algorithm } from "../algorithm.ts";
import { mayDelay } from "../algorithms/may_delay.ts";
import type { Clock } from "../clock.ts";
import type { Decision } from "../decision.ts";
import { RateLimitedError } from "../errors.ts";
import { append, type LinkedList, linkedList, type Links, remove } from "../linked_list.ts";
import type { MaybePromise } from "../maybe_promise.ts";
import type { RefundNotice, Verb } from "../store.ts";
import type { Attempt, StateAt } from "../verbs/attempt.ts";
import { type Deadlines, deadlines, pushDeadline, sweep } from "./deadlines.ts";

/** The part of a limiter that waiting needs. */
export interface QueueLimiter {
  readonly algorithm: Algorithm;
  /** The queues of the limiter's store. */
  readonly queues: WaitingQueues;
  /** The most callers of the limiter that may wait. */
  readonly maxWaiting: number;
  /** How many of its callers wait. */
  waiting: number;
  /**
   * The time by which waits are measured, in milliseconds: the runtime's monotonic clock, or the
   * limiter's clock if that brings timers of its own.
   */
  passing(): number;
  /** Calls back after so many milliseconds have passed; returns a function that cancels the call. */
  after(milliseconds: number, wake: () => void): () => void;
  /**
   * Runs a verb on one of the limiter's keys. A verb that gives units back wakes the key's queue.
   */
  call<Argument, Answer>(
    verb: Verb<Argument, Answer>,
    key: string,
    argument: Argument,
  ): MaybePromise<Answer>;
  /** The name of a key in its store. */
  nameOf(key: string): string;
  /** Reports a verdict to the limiter's `onDecision`. */
  report(decision: Decision, key: string, cost: number): Decision;
  /** The limiter's clock, if it has one. */
  readonly clock: Clock | undefined;
  /** Whether every release wakes waiting callers, whatever thread or process makes it. */
  readonly tellsReleases: boolean;
  /** Milliseconds that may lie between the renewal of a permit and the answer to its holder. */
  readonly renewalLag: number;
  /** The notice of units that other threads give back to a key; `undefined` if the store cannot tell. */
  refundNotice(key: string): RefundNotice | undefined;
}

/** The thing that a caller waits for, if it is not simply a number of units. */
export interface WaitTarget {
  /** Tries to take it. */
  take(): MaybePromise<Attempt>;
  /** Gives it back, because the caller has left meanwhile. */
  giveBack(): MaybePromise<unknown>;
  /** The longest sleep in milliseconds after a refusal; may be `Infinity`. */
  longestSleep(): number;
  /** Called when the caller enters the queue, with a function that takes it out and fails it. */
  entered(leave: (reason: unknown) => void): void;
}

/** The request of a waiting caller. */
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
  /** The thing that it waits for; by default the units of its cost. */
  readonly target?: WaitTarget | undefined;
}

/** An expected admission: when the call starts, and the state after it. */
export interface Projection extends StateAt {
  /** Milliseconds until the call starts. */
  readonly wait: number;
}

/** A caller in a queue. */
export interface Waiter extends WaitRequest, Links<Waiter> {
  readonly queue: WaitingQueue;
  /** The instant at which its `maxWait` ends, by `passing()`; may be `Infinity`. */
  readonly deadline: number;
  /** Whether its limiter's `waiting` counts it, because it or a caller before it was refused. */
  counted: boolean;
  /** Its admission, and the state after it, if the callers before it are admitted first. */
  projection: Projection | undefined;
  /** Gives its place back. Set once the caller is charged and waits for its start. */
  giveBack: (() => MaybePromise<unknown>) | undefined;
  /** Whether the caller has left a place that could not be given back yet. */
  cancelled: boolean;
  /** Starts the caller. Set once its delay has passed. */
  start: (() => void) | undefined;
  /** Cancels its sleep until it starts. */
  wake(): void;
  /** Ends the wait: it may start, or too many wait (`undefined`). */
  readonly resolve: (admitted: Attempt | undefined) => void;
  /** Ends the wait: it failed. */
  readonly reject: (reason: unknown) => void;
}

/** The state that projections start from, and how to tell the store's time from then on. */
export interface ObservedState extends StateAt {
  /** The limiter whose `passing()` reports the store's time. */
  readonly limiter: QueueLimiter;
  /** How far the store's clock was ahead of that limiter's `passing()`. */
  readonly ahead: number;
  /** Whether this is the key's state, as far as is known; otherwise it may hold more use. */
  readonly isExact: boolean;
}

/** A call of the head that is under way. */
export interface HeadCall {
  readonly waiter: Waiter;
  /** The notice of refunds to the key, made before the call was sent. */
  readonly notice: RefundNotice | undefined;
  /** Whether units were given back since it was sent: the head must not sleep on its answer. */
  outdated: boolean;
  /** When it was sent, by `passing()`; only if it was not answered at once. */
  sentAt: number;
  /** Called when the call has ended, and its units are given back if the caller has left. */
  onEnd(): void;
}

/** The callers that wait for one key. */
export interface WaitingQueue {
  /** Callers that are not charged; the first of them is the head. */
  readonly waiting: LinkedList<Waiter>;
  /** Callers that are charged and sleep out their delay, in the order of their places. */
  readonly delayed: LinkedList<Waiter>;
  /** The first of `delayed` that has not left; known only after a search. */
  staying: Waiter | undefined;
  /** The callers of `waiting` that have a deadline. */
  readonly deadlines: Deadlines<Waiter>;
  /** The state at the head's last refusal; `undefined` if it was not kept, or is out of date. */
  observed: ObservedState | undefined;
  /** The last of `waiting` that has a projection; all callers before it have one, too. */
  projectedTo: Waiter | undefined;
  /** Whether some projections may be too late, because a caller has left. */
  isPessimistic: boolean;
  /** No caller is projected before this instant, by `passing()`, because many just were. */
  restUntil: number;
  /** Cancels the timer that ends that rest; only while callers wait for their projection. */
  rest: (() => void) | undefined;
  /**
   * The head's call that is under way. It may change the state, so nothing is projected meanwhile.
   */
  call: HeadCall | undefined;
  /** When the first unanswered call was sent. */
  silentSince: number | undefined;
  /** Cancels the timer of the earliest deadline; only while a call is not answered. */
  silence: (() => void) | undefined;
  /** When that timer wakes. */
  silenceEnds: number;
  /** Cancels the head's sleep; only while it sleeps. */
  sleep: (() => void) | undefined;
  /** Whether all waiting callers are being failed, because the store was closed. */
  isEnding: boolean;
  /** Forgets the queue; called when nobody is in it. */
  close(): void;
}

/** The queues of one store. */
export interface WaitingQueues {
  /** By stored key. */
  readonly byName: Map<string, WaitingQueue>;
  /** Whether the store was closed. */
  isClosed: boolean;
}

/** Opens the queue of a stored key. */
export function openQueue({ byName }: WaitingQueues, stored: string): WaitingQueue {
  const queue: WaitingQueue = {
    waiting: linkedList(),
    delayed: linkedList(),
    staying: undefined,
    deadlines: deadlines(),
    observed: undefined,
    projectedTo: undefined,
    isPessimistic: false,
    restUntil: -Infinity,
    rest: undefined,
    call: undefined,
    silentSince: undefined,
    silence: undefined,
    silenceEnds: 0,
    sleep: undefined,
    isEnding: false,
    close() {
      if (byName.get(stored) === queue) byName.delete(stored);
      queue.rest?.();
      queue.silence?.();
      queue.rest = queue.silence = undefined;
    },
  };
  byName.set(stored, queue);
  return queue;
}

/** Lets the head try again, because it may be admitted sooner than was projected. */
export function wakeHead(queue: WaitingQueue): void {
  if (queue.call !== undefined) queue.call.outdated = true;
  forgetState(queue);
  endSleep(queue);
}

/** Adds a waiter at the end. */
export function enqueue(queue: WaitingQueue, waiter: Waiter): void {
  append(queue.waiting, waiter);
  if (waiter.deadline === Infinity) return;
  queue.deadlines.live++;
  pushDeadline(queue.deadlines, waiter);
}

/** Whether a caller waits to be admitted. */
export function isWaiting(waiter: Waiter): boolean {
  return waiter.list === waiter.queue.waiting;
}

/**
 * Takes a waiter out of the queue, if it is in it. The callers behind it are then admitted earlier.
 */
export function dequeue(waiter: Waiter): void {
  if (!isWaiting(waiter)) return;
  const { queue, projection } = waiter;
  const isAwaited = queue.waiting.first === waiter && !sleepsAsLong(waiter, waiter.next);
  if (queue.projectedTo === waiter) queue.projectedTo = waiter.previous;
  else if (projection !== undefined) queue.isPessimistic = true;
  unlink(waiter);
  uncount(waiter);
  if (isAwaited) endSleep(queue);
}

/**
 * Whether the next head would be refused for as long as the head that leaves: then it need not try.
 */
function sleepsAsLong({ limiter, cost }: Waiter, next: Waiter | undefined): boolean {
  return next?.limiter === limiter && next.cost >= cost && !mayDelay(limiter.algorithm);
}

function unlink(waiter: Waiter): void {
  const { queue: { deadlines } } = waiter;
  remove(waiter);
  if (waiter.deadline === Infinity) return;
  deadlines.live--;
  sweep(deadlines, isWaiting);
}

/** Takes a waiter out of the queue, and fails it. */
export function fail(waiter: Waiter, reason: unknown): void {
  dequeue(waiter);
  waiter.reject(reason);
}

/** Takes the admitted head out of the queue; returns whether it has to wait for its start. */
export function admitHead(head: Waiter, { decision, sight }: Attempt): boolean {
  const { queue } = head;
  const { observed, projectedTo } = queue;
  if (projectedTo === undefined || decision.source !== undefined) forgetState(queue);
  else {
    queue.observed = { ...observed!, ...head.projection!, isExact: !queue.isPessimistic };
    if (projectedTo === head) queue.projectedTo = undefined;
  }
  unlink(head);
  if (sight === undefined || (decision.delay === 0 && queue.delayed.first === undefined)) {
    uncount(head);
    return false;
  }
  count(head);
  append(queue.delayed, head);
  return true;
}

/**
 * Starts the callers whose delay has passed, except behind a caller that still sleeps: after a late
 * answer a caller sleeps for longer than the callers after it.
 */
export function startDelayed(queue: WaitingQueue): void {
  const { delayed } = queue;
  for (let first = firstStaying(queue); first?.start !== undefined; first = firstStaying(queue)) {
    // All callers before `staying` have left.
    while (first.list === delayed) {
      const gone = delayed.first!;
      remove(gone);
      uncount(gone);
    }
    first.start();
  }
}

/** Continues where the last search stopped, so that a caller that left is passed over only once. */
function firstStaying(queue: WaitingQueue): Waiter | undefined {
  const { delayed, staying } = queue;
  let waiter = staying?.list === delayed ? staying : delayed.first;
  while (waiter?.cancelled) waiter = waiter.next;
  queue.staying = waiter;
  return waiter;
}

/** Counts a waiter in its limiter's `waiting`. */
function count(waiter: Waiter): void {
  if (waiter.counted) return;
  waiter.counted = true;
  waiter.limiter.waiting++;
}

/** No longer counts a waiter. */
export function uncount(waiter: Waiter): void {
  if (!waiter.counted) return;
  waiter.counted = false;
  waiter.limiter.waiting--;
}

/** Whether a caller may wait: it is counted already, or its limiter has room for one more. */
export function mayWait({ counted, limiter }: Waiter): boolean {
  return counted || limiter.waiting < limiter.maxWaiting;
}

/**
 * Counts all waiting callers, because their head was refused; callers for whom there is no room
 * leave. Before that refusal no caller is counted, because it is not yet known whether any caller
 * has to wait.
 */
export function countWaiting({ waiting }: WaitingQueue): void {
  let waiter = waiting.last;
  if (waiter === undefined || waiter.counted) return;
  while (waiter.previous !== undefined && !waiter.previous.counted) waiter = waiter.previous;
  while (waiter !== undefined) {
    const { next }: Waiter = waiter;
    if (mayWait(waiter)) count(waiter);
    else {
      dequeue(waiter);
      waiter.resolve(undefined);
    }
    waiter = next;
  }
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
  if (waiter.deadline === Infinity) return Infinity;
  return Math.max(0, waiter.deadline - passing(waiter));
}

/** The limiter's `passing()` in whole milliseconds. */
export function passing({ limiter }: { readonly limiter: QueueLimiter }): number {
  return Math.floor(limiter.passing());
}

/** Forgets the state that projections start from. */
export function forgetState(queue: WaitingQueue): void {
  forgetProjections(queue);
  queue.observed = undefined;
}

/** Forgets all projected admissions. */
export function forgetProjections(queue: WaitingQueue): void {
  queue.projectedTo = undefined;
  queue.isPessimistic = false;
}

/** Ends the head's sleep, so that it tries again. */
export function endSleep(queue: WaitingQueue): void {
  queue.sleep?.();
  queue.sleep = undefined;
}
