/*
 * Waiting for one's turn: what runs the waiting queue of a key.
 *
 * Only the head of a queue tries, and nothing is taken for those behind it; so a large cost is not
 * overtaken by small ones, and whoever leaves has taken nothing. The head sleeps for as long as its
 * refusal said, then tries again: one timer per queue, and one call to the store at a time. Whatever
 * changes a queue (a caller joins or leaves, an answer comes, a sleep ends, units are given back)
 * ends in `advance`, which sends the head's next call if there is one to send.
 *
 * Those who were admitted by a `leakyQueue` then sleep out their delay. Who leaves meanwhile gives
 * back the newest place only: if a place in the middle were given back, the next call would be given
 * the newest one, which is taken. One that is not the newest stays, marked, until those behind it
 * are gone.
 */

import type { Decision } from "../decision.ts";
import { StoreUnavailableError } from "../errors.ts";
import { andThen, isPromise, type MaybePromise, orElse } from "../maybe_promise.ts";
import { type Attempt, attempt, type Sight } from "../verbs/attempt.ts";
import { refund } from "../verbs/refund.ts";
import { refundNewest } from "../verbs/refund_newest.ts";
import {
  admitHead,
  countWaiting,
  dequeue,
  enqueue,
  fail,
  type HeadCall,
  mayWait,
  observeRefusal,
  queueFor,
  rateLimited,
  refuseByProjection,
  timeLeft,
  uncount,
  type Waiter,
  type WaitingQueue,
  type WaitingQueues,
  type WaitRequest,
  wakeHead,
} from "./waiting_queue.ts";

/**
 * The least time in milliseconds that a store has for an answer. A call that is sent just before
 * its caller's deadline is not given up at once.
 */
export const MIN_ANSWER_TIME = 250;

/**
 * Waits for one's turn, takes, and waits out the delay.
 *
 * @returns The decision that admitted it; `undefined` if too many wait.
 * @throws {RateLimitedError} If the wait would be longer than `maxWait`.
 * @throws {StoreUnavailableError} If the store has not answered by then.
 */
export function waitInQueue(request: WaitRequest): Promise<Decision | undefined> {
  const { limiter, maxWait, signal } = request;
  const queue = queueFor(limiter.queues, limiter.nameOf(request.key));
  return new Promise((resolve, reject) => {
    const abort = () => leave(queue, waiter, signal!.reason);
    let isOver = false;
    let unwatch = () => {};
    function end(): void {
      isOver = true;
      unwatch();
      signal?.removeEventListener("abort", abort);
    }
    const waiter: Waiter = {
      ...request,
      deadline: Math.ceil(limiter.passing() + maxWait),
      counted: false,
      projection: undefined,
      freshAt: undefined,
      cancelled: false,
      wake() {},
      resolve: (decision) => (end(), resolve(decision)),
      reject: (reason) => (end(), reject(reason)),
    };
    signal?.addEventListener("abort", abort);
    join(queue, waiter);
    if (!isOver && maxWait < Infinity) unwatch = watchDeadline(queue, waiter);
  });
}

/** Wakes the head of a key's queue, if there is one, as units were given back. */
export function wakeQueue(queues: WaitingQueues, name: string): void {
  const queue = queues.get(name);
  if (queue !== undefined) tryAgain(queue);
}

function tryAgain(queue: WaitingQueue): void {
  wakeHead(queue);
  advance(queue);
}

function join(queue: WaitingQueue, waiter: Waiter): void {
  enqueue(queue, waiter);
  if (queue.waiting[0]!.counted) countWaiting(queue);
  if (queue.call === undefined && waiter.deadline < Infinity) refuseByProjection(queue);
  advance(queue);
}

function leave(queue: WaitingQueue, waiter: Waiter, reason: unknown): void {
  if (waiter.freshAt !== undefined) return void cancelStart(queue, waiter, reason);
  const { call } = queue;
  dequeue(queue, waiter);
  if (waiter.afterUndo && call?.waiter === waiter) {
    call.onEnd = () => waiter.reject(reason);
  } else {
    waiter.reject(reason);
  }
  advance(queue);
}

/** Sends the head's next call, unless one is under way or the head sleeps. */
function advance(queue: WaitingQueue): void {
  while (queue.call === undefined && queue.sleep === undefined) {
    const head = queue.waiting[0];
    if (head !== undefined) callStore(queue, head);
    else return queue.delayed.length === 0 ? queue.close() : undefined;
  }
}

function callStore(queue: WaitingQueue, head: Waiter): void {
  const { limiter, key, cost } = head;
  const call: HeadCall = {
    waiter: head,
    watched: undefined,
    outdated: false,
    sentAt: limiter.passing(),
    onEnd() {},
  };
  queue.call = call;
  const argument = { cost, maxDelay: mayWait(head) ? timeLeft(head) : 0 };
  function send(): MaybePromise<unknown> {
    call.watched = limiter.watch(key);
    const answer = limiter.call(attempt, key, argument);
    return andThen(answer, (answer) => settle(queue, call, answer));
  }
  const settled = orElse<unknown>(send, (reason) => fail(queue, head, reason));
  if (!isPromise(settled)) return endCall(queue, call);
  settled.then(() => {
    endCall(queue, call);
    advance(queue);
  });
}

/** Does what follows from a decision; what it gives back may be answered later. */
function settle(
  queue: WaitingQueue,
  call: HeadCall,
  { decision, sight }: Attempt,
): MaybePromise<unknown> {
  const { waiter } = call;
  if (queue.waiting[0] !== waiter) return undo(waiter, decision, sight);
  if (decision.allowed) {
    const isDelayed = admitHead(queue, decision, sight);
    return isDelayed ? sleepUntilStart(queue, waiter, decision) : waiter.resolve(decision);
  }
  if (decision.retryAfter === Infinity) {
    const rule = "cost must be at most what the store that answers can admit";
    return fail(queue, waiter, rateLimited(waiter, decision, rule));
  }
  // From the state of another store, which has a limit of its own, nothing can be projected.
  const own = decision.source === undefined ? sight : undefined;
  observeRefusal(queue, waiter, decision, own);
  countWaiting(queue);
  if (queue.waiting[0] !== waiter || call.outdated) return;
  sleepHead(queue, call, decision.retryAfter);
  if (own !== undefined) refuseByProjection(queue);
}

/** Gives back what was taken for a head that had left while its call was under way. */
function undo(
  { limiter, key, cost }: Waiter,
  decision: Decision,
  sight: Sight | undefined,
): MaybePromise<unknown> {
  // A failure policy answers without the state, and takes nothing.
  if (!decision.allowed || sight === undefined) return;
  return decision.delay === 0
    ? limiter.call(refund, key, cost)
    : limiter.call(refundNewest, key, { cost, freshAt: sight.freshAt });
}

function endCall(queue: WaitingQueue, call: HeadCall): void {
  if (queue.call === call) queue.call = undefined;
  call.onEnd();
}

/**
 * Ends a wait whose time is up while the store does not answer. If it is the head's, its call is given
 * up: the next head tries, and what is taken later is given back.
 *
 * @returns What cancels that.
 */
function watchDeadline(queue: WaitingQueue, waiter: Waiter): () => void {
  const { limiter, maxWait } = waiter;

  function expire(): void {
    const { call } = queue;
    if (waiter.freshAt !== undefined) return;
    const sentFor = call === undefined ? 0 : limiter.passing() - call.sentAt;
    if (call === undefined || sentFor < MIN_ANSWER_TIME) {
      cancel = limiter.after(MIN_ANSWER_TIME - sentFor, expire);
      return;
    }
    const applied = call.waiter === waiter ? "unknown" : "no";
    fail(queue, waiter, unanswered(waiter, applied));
    if (queue.waiting[0] === call.waiter) return;
    queue.call = undefined;
    advance(queue);
  }

  let cancel = limiter.after(maxWait, expire);
  return () => cancel();
}

/** The error of a call that a store has not answered by its caller's deadline. */
export function unanswered(
  { key, cost, maxWait }: WaitRequest,
  applied: "no" | "unknown",
): StoreUnavailableError {
  const rule = `the store must answer within a maxWait of ${maxWait} ms`;
  return new StoreUnavailableError(
    `Cannot acquire ${cost} of ${JSON.stringify(key)} as ${rule}: it has not answered`,
    applied,
  );
}

/** Sleeps until the head may be admitted, leaves, or units are given back. */
function sleepHead(
  queue: WaitingQueue,
  { waiter: { limiter }, watched }: HeadCall,
  milliseconds: number,
): void {
  let cancel = () => {};
  const unwatch = watched?.(() => tryAgain(queue));
  function sleep(): void {
    unwatch?.();
    cancel();
  }
  queue.sleep = sleep;
  cancel = limiter.after(milliseconds, () => {
    unwatch?.();
    if (queue.sleep === sleep) queue.sleep = undefined;
    advance(queue);
  });
}

function sleepUntilStart(queue: WaitingQueue, waiter: Waiter, decision: Decision): void {
  waiter.wake = waiter.limiter.after(decision.delay, () => {
    // Those before it have started or left.
    queue.delayed.splice(0, queue.delayed.indexOf(waiter) + 1).forEach(uncount);
    waiter.resolve(decision);
    advance(queue);
  });
}

/** Gives back the places of those who have left, from the newest on; then fails the one who leaves. */
async function cancelStart(
  queue: WaitingQueue,
  waiter: Waiter,
  reason: unknown,
): Promise<void> {
  waiter.wake();
  waiter.cancelled = true;
  uncount(waiter);
  try {
    // The first one at once: a call that comes right after the abort may have the place.
    while (queue.delayed.at(-1)?.cancelled) {
      const { limiter, key, cost, freshAt } = queue.delayed.pop()!;
      await limiter.call(refundNewest, key, { cost, freshAt: freshAt! });
    }
  } catch {
    // What could not be given back stays charged: the safe side.
  }
  waiter.reject(reason);
  advance(queue);
}
