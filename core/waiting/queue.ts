/*
 * The callers that wait for one key, as a value, and its changes: who joins, leaves or is admitted.
 * A change costs the same no matter how many callers wait, because callers contain their own links,
 * and their deadlines are in a heap. Nothing here waits or calls a store; `wait.ts` does.
 */

import { mayDelay } from "../algorithms/may_delay.ts";
import type { LimiterInternals } from "../limiter/limiter_internals.ts";
import { append, type LinkedList, linkedList, type Links, remove } from "../linked_list.ts";
import type { MaybePromise } from "../maybe_promise.ts";
import type { Attempt, StateAt } from "../verbs/attempt.ts";
import { type Deadlines, deadlines, pushDeadline, sweep } from "../deadlines.ts";
import { inTurn } from "./turns.ts";

/** How a caller takes the thing that it waits for: units of its cost, or a permit. */
export interface Taking {
  /** Tries to take it. A start later than in so many milliseconds is a refusal. */
  take(request: WaitRequest, maxDelay: number): MaybePromise<Attempt>;
  /** The function that gives back what an attempt took, if it can be given back. */
  undoOf(request: WaitRequest, attempt: Attempt): (() => MaybePromise<unknown>) | undefined;
  /** Whether a refusal foretells when the callers behind are admitted. */
  readonly foretells: boolean;
  /** The longest sleep in milliseconds after a refusal; may be `Infinity`. */
  longestSleep(): number;
}

/** The request of a waiting caller. */
export interface WaitRequest {
  readonly limiter: LimiterInternals;
  /** The limiter's key. */
  readonly key: string;
  readonly cost: number;
  /** The longest wait in milliseconds; may be `Infinity`. */
  readonly maxWait: number;
  readonly signal: AbortSignal | undefined;
  /** Whether an abort is reported only when what was taken meanwhile has been given back. */
  readonly afterUndo: boolean;
  readonly taking: Taking;
}

/** The end of a wait: the attempt that admitted the caller, or the rule by which it is refused. */
export type Outcome = Attempt | { readonly rule: string };

/** An expected admission: when the call starts, and the state after it. */
export interface Projection extends StateAt {
  /** Milliseconds until the call starts. */
  readonly wait: number;
}

/** The place of a caller that is charged, and waits for its start. */
export interface Place {
  readonly startsAt: number;
  readonly admitted: Attempt;
  readonly undo: (() => MaybePromise<unknown>) | undefined;
  /** Whether the caller has left. A place that is not the newest cannot be given back yet. */
  isLeft: boolean;
}

/** How many callers of a limiter wait, in all of its queues. */
export interface Line {
  readonly most: number;
  waiting: number;
}

/** A caller in a queue. */
export interface Waiter extends WaitRequest, Links<Waiter> {
  readonly line: Line;
  readonly queue: WaitingQueue;
  /** The instant at which its `maxWait` ends; may be `Infinity`. */
  readonly deadline: number;
  /** Whether it counts as one of its limiter's waiting callers. */
  counted: boolean;
  /** Its admission, and the state after it, if the callers before it are admitted first. */
  projection: Projection | undefined;
  /** Set once it is charged and waits for its start. */
  place: Place | undefined;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (reason: unknown) => void;
}

/** The state that projections start from, and how to tell the store's time from then on. */
export interface ObservedState extends StateAt {
  /** How far the store's clock was ahead of the queue's time. */
  readonly ahead: number;
  /** Whether this is the key's state, as far as is known; otherwise it may hold more use. */
  readonly isExact: boolean;
}

/** A call of the head that is under way. */
export interface HeadCall {
  readonly waiter: Waiter;
  /** Whether units came back since it was sent: the head must not sleep on its answer. */
  isOutdated: boolean;
  /** When it was sent. */
  readonly sentAt: number;
  /** Called when the call has ended, and its units are given back if the caller has left. */
  onEnd: (() => void) | undefined;
}

/** The callers that wait for one key. All instants are by `passing`, in milliseconds. */
export interface WaitingQueue {
  /** The clock that all of its callers wait by. */
  passing(): number;
  after(milliseconds: number, wake: () => void): () => void;
  /** Forgets the queue; called when nobody is in it. */
  forget(): void;
  /** Callers that are not charged; the first of them is the head. */
  readonly waiting: LinkedList<Waiter>;
  /** Callers that are charged and sleep out their delay, in the order of their places. */
  readonly delayed: LinkedList<Waiter>;
  /** The first of `delayed` that has not left; known only after a search. */
  staying: Waiter | undefined;
  /** The callers of `waiting` that have a deadline. */
  readonly deadlines: Deadlines<Waiter>;
  /** Whether its head was refused, so that its callers really wait. */
  isRefused: boolean;
  /** When the head tries again. */
  triesAt: number;
  /** The head's call that is under way. It may change the state, so nothing is projected meanwhile. */
  call: HeadCall | undefined;
  /** When the first unanswered call was sent. */
  silentSince: number | undefined;
  /** The state at the head's last refusal; `undefined` if it was not kept, or is out of date. */
  observed: ObservedState | undefined;
  /** The last of `waiting` that has a projection; all callers before it have one, too. */
  projectedTo: Waiter | undefined;
  /** Whether some projections may be too late, because a caller has left. */
  isPessimistic: boolean;
  /** No caller is projected before this instant, because many just were. */
  restsUntil: number;
  /** The queue's one timer, for whatever is due next. */
  timer: { readonly due: number; cancel(): void } | undefined;
}

/** Makes a queue that nobody is in. */
export function newQueue(
  { passing, after, forget }: Pick<WaitingQueue, "passing" | "after" | "forget">,
): WaitingQueue {
  return {
    passing,
    after,
    forget,
    waiting: linkedList(),
    delayed: linkedList(),
    staying: undefined,
    deadlines: deadlines(),
    isRefused: false,
    triesAt: -Infinity,
    call: undefined,
    silentSince: undefined,
    observed: undefined,
    projectedTo: undefined,
    isPessimistic: false,
    restsUntil: -Infinity,
    timer: undefined,
  };
}

/** Lets the head try again as soon as no call is under way. */
export function tryAgain(queue: WaitingQueue): void {
  queue.triesAt = -Infinity;
}

/** Adds a waiter at the end. */
export function enqueue(queue: WaitingQueue, waiter: Waiter): void {
  append(queue.waiting, waiter);
  if (waiter.deadline < Infinity) {
    queue.deadlines.live++;
    pushDeadline(queue.deadlines, waiter);
  }
}

/** Whether a caller waits to be admitted. */
export function isWaiting(waiter: Waiter): boolean {
  return waiter.list === waiter.queue.waiting;
}

/** Takes a waiter out of the queue. The callers behind it are then admitted earlier. */
export function dequeue(waiter: Waiter): void {
  const { queue, projection, next } = waiter;
  const isHead = queue.waiting.first === waiter;
  if (queue.projectedTo === waiter) queue.projectedTo = waiter.previous;
  else if (projection !== undefined) queue.isPessimistic = true;
  unlink(waiter);
  uncount(waiter);
  if (isHead && !sleepsAsLong(waiter, next)) tryAgain(queue);
}

/** Whether the next head would be refused for as long as the head that leaves: then it need not try. */
function sleepsAsLong({ limiter, cost }: Waiter, next: Waiter | undefined): boolean {
  return next?.limiter === limiter && next.cost >= cost && !mayDelay(limiter.algorithm);
}

function unlink(waiter: Waiter): void {
  const { queue: { deadlines, waiting }, queue } = waiter;
  remove(waiter);
  if (waiting.first === undefined) queue.isRefused = false;
  if (waiter.deadline === Infinity) return;
  deadlines.live--;
  sweep(deadlines, isWaiting);
}

/** Takes a waiter out of the queue, and fails it in its turn. */
export function fail(waiter: Waiter, makeReason: () => unknown): void {
  dequeue(waiter);
  inTurn(() => waiter.reject(makeReason()));
}

/** Takes a waiter out of the queue, and refuses it in its turn. */
export function refuse(waiter: Waiter, rule: string): void {
  dequeue(waiter);
  inTurn(() => waiter.resolve({ rule }));
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

/** Continues where the last search stopped, so that a caller that left is passed over only once. */
export function firstStaying(queue: WaitingQueue): Waiter | undefined {
  const { delayed, staying } = queue;
  let waiter = staying?.list === delayed ? staying : delayed.first;
  while (waiter !== undefined && waiter.place!.isLeft) waiter = waiter.next;
  return queue.staying = waiter;
}

/** Whether one more caller of a limiter may wait. */
export function hasRoom({ waiting, most }: Line): boolean {
  return waiting < most;
}

function count(waiter: Waiter): void {
  if (waiter.counted) return;
  waiter.counted = true;
  waiter.line.waiting++;
}

/** No longer counts a waiter as one of its limiter's waiting callers. */
export function uncount(waiter: Waiter): void {
  if (!waiter.counted) return;
  waiter.counted = false;
  waiter.line.waiting--;
}

/** Counts a waiter, or refuses it if too many callers of its limiter wait. */
export function countOrRefuse(waiter: Waiter): void {
  const { line } = waiter;
  if (hasRoom(line)) count(waiter);
  else refuse(waiter, `at most ${line.most} may wait`);
}

/**
 * Notes that the head was refused. Only from then on is it known that the callers really have to
 * wait, so they are counted.
 */
export function noteRefusal(queue: WaitingQueue): void {
  let waiter = queue.waiting.first;
  if (queue.isRefused || waiter === undefined) return;
  queue.isRefused = true;
  while (waiter !== undefined) {
    const { next }: Waiter = waiter;
    countOrRefuse(waiter);
    waiter = next;
  }
}

/** The milliseconds that a waiter has left. */
export function timeLeft({ deadline, queue }: Waiter): number {
  return deadline === Infinity ? Infinity : Math.max(0, deadline - Math.floor(queue.passing()));
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
