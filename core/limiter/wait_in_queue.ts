/*
 * Waiting for one's turn: what runs the waiting queue of a key.
 *
 * Only the head of a queue tries, and nothing is taken for those behind it; so a large cost is not
 * overtaken by small ones, and whoever leaves has taken nothing. The head sleeps for as long as its
 * refusal said, then tries again: one timer per queue, and one call to the store at a time. Whatever
 * changes a queue (a caller joins or leaves, an answer comes, a sleep ends, units are given back)
 * ends in `advance`, which sends the head's next call if there is one to send, and starts callers whose
 * delay has passed.
 *
 * To leave, or to be admitted, costs the same no matter how many wait. If thousands do so at one
 * instant, they do it in slices, each in its own turn of the event loop, so that the rest of the
 * program goes on.
 *
 * A caller that a `leakyQueue` has admitted sleeps out its delay. If it leaves meanwhile, it gives
 * its place back only if that is the newest: if a place in the middle were given back, the next
 * call would be given the newest one, which is taken. A caller with an older place is marked, and
 * stays until those behind it are gone. Its mark gives a place back, and shows whether it still
 * is the newest.
 */

import { remove } from "../linked_list.ts";
import { andThen, isPromise, type MaybePromise, orElse } from "../maybe_promise.ts";
import { type Attempt, attempt } from "../verbs/attempt.ts";
import { refund } from "../verbs/refund.ts";
import { newPermitId } from "./permit_ids.ts";
import { undoOf } from "../together/undo.ts";
import { givingBack } from "../verbs/settle.ts";
import { type AbortGroups, abortGroups, MAX_PER_TURN } from "./abort_groups.ts";
import { acquireClosedError } from "./end_queues.ts";
import { observeRefusal, refuseByProjection } from "./projections.ts";
import { answered, scheduleFailures } from "./silence.ts";
import {
  admitHead,
  countWaiting,
  dequeue,
  enqueue,
  fail,
  type HeadCall,
  isWaiting,
  mayWait,
  openQueue,
  type QueueLimiter,
  rateLimited,
  startDelayed,
  timeLeft,
  uncount,
  type Waiter,
  type WaitingQueue,
  type WaitingQueues,
  type WaitRequest,
  wakeHead,
} from "./waiting_queue.ts";

const abortsOfLimiters = new WeakMap<QueueLimiter, AbortGroups<Waiter>>();

/** The callers of a limiter that wait with a signal, grouped by signal. */
function abortsOf(limiter: QueueLimiter): AbortGroups<Waiter> {
  const known = abortsOfLimiters.get(limiter);
  if (known !== undefined) return known;
  const aborts = abortGroups<Waiter>({ leave, later: (wake) => void limiter.after(0, wake) });
  abortsOfLimiters.set(limiter, aborts);
  return aborts;
}

/**
 * Waits for the caller's turn, takes, and waits out the delay. If nobody waits and the store admits
 * at once, no queue is opened.
 *
 * @returns The attempt that admitted the call; `undefined` if too many callers wait.
 * @throws {RateLimitedError} If the wait would be longer than `maxWait`.
 * @throws {StoreUnavailableError} If the store has not answered by then, or is closed.
 */
export function waitInQueue(request: WaitRequest): MaybePromise<Attempt | undefined> {
  const { limiter, key, maxWait } = request;
  const { queues } = limiter;
  if (queues.isClosed) throw acquireClosedError(request, "no");
  const stored = queues.byName.size === 0 ? undefined : limiter.nameOf(key);
  const queue = stored === undefined ? undefined : queues.byName.get(stored);
  if (queue !== undefined) return enter(queue, request, undefined);
  const notice = limiter.refundNotice(key);
  const maxDelay = limiter.waiting < limiter.maxWaiting ? maxWait : 0;
  const answer = tryToTake(request, maxDelay);
  if (!isPromise(answer) && isStarted(answer)) return answer;
  return enter(openQueue(queues, stored ?? limiter.nameOf(key)), request, { notice, answer });
}

function tryToTake(
  { limiter, key, cost, target }: WaitRequest,
  maxDelay: number,
): MaybePromise<Attempt> {
  return target === undefined
    ? limiter.call(attempt, key, { cost, maxDelay, id: newPermitId() })
    : target.take();
}

/** Whether a call is admitted, and starts at once. */
function isStarted({ decision, sight }: Attempt): boolean {
  return decision.allowed && (decision.delay === 0 || sight === undefined);
}

/** A call on the store that was sent already. */
interface SentCall {
  readonly notice: HeadCall["notice"];
  readonly answer: MaybePromise<Attempt>;
}

/** Joins a queue; the first caller has sent its call already. */
function enter(
  queue: WaitingQueue,
  request: WaitRequest,
  sent: SentCall | undefined,
): Promise<Attempt | undefined> {
  const { limiter, maxWait, signal } = request;
  return new Promise((resolve, reject) => {
    const end = () => signal && abortsOf(limiter).remove(signal, waiter);
    const waiter: Waiter = {
      ...request,
      queue,
      list: undefined,
      previous: undefined,
      next: undefined,
      deadline: maxWait === Infinity ? Infinity : Math.ceil(limiter.passing() + maxWait),
      counted: false,
      projection: undefined,
      giveBack: undefined,
      cancelled: false,
      start: undefined,
      wake() {},
      resolve: (admitted) => (end(), resolve(admitted)),
      reject: (reason) => (end(), reject(reason)),
    };
    if (signal !== undefined) abortsOf(limiter).add(signal, waiter);
    enqueue(queue, waiter);
    request.target?.entered((reason) => leave([waiter], reason));
    if (sent === undefined) join(queue, waiter);
    else sendOrAdopt(queue, waiter, sent);
  });
}

/** Wakes the head of a key's queue, if there is one, after units were given back. */
export function wakeQueue({ byName }: WaitingQueues, name: string): void {
  const queue = byName.get(name);
  if (queue !== undefined) tryAgain(queue);
}

function tryAgain(queue: WaitingQueue): void {
  wakeHead(queue);
  advance(queue);
}

function join(queue: WaitingQueue, waiter: Waiter): void {
  if (queue.waiting.first!.counted) countWaiting(queue);
  if (waiter.deadline < Infinity && isWaiting(waiter)) {
    if (queue.call === undefined) projectAll(queue);
    else scheduleFailures(queue, advance);
  }
  advance(queue);
}

function projectAll(queue: WaitingQueue): void {
  refuseByProjection(queue, () => {
    if (queue.call === undefined) projectAll(queue);
    advance(queue);
  });
}

/** Takes callers whose signal was aborted out of their queues; then the queues go on. */
function leave(waiters: readonly Waiter[], reason: unknown): void {
  const left = new Set<WaitingQueue>();
  for (const waiter of waiters) {
    const { queue } = waiter;
    left.add(queue);
    if (waiter.list === queue.delayed) void cancelStart(queue, waiter, reason);
    else leaveLine(queue, waiter, reason);
  }
  left.forEach(advance);
}

function leaveLine(queue: WaitingQueue, waiter: Waiter, reason: unknown): void {
  const { call } = queue;
  dequeue(waiter);
  if (waiter.afterUndo && call?.waiter === waiter) {
    call.onEnd = () => waiter.reject(reason);
  } else {
    waiter.reject(reason);
  }
}

/**
 * Starts the callers whose delay has passed. Sends the head's next call, unless a call is under way
 * or the head sleeps.
 */
function advance(queue: WaitingQueue): void {
  startDelayed(queue);
  let done = 0;
  while (queue.call === undefined && queue.sleep === undefined && !queue.isEnding) {
    const head = queue.waiting.first;
    if (head === undefined) return queue.delayed.first === undefined ? queue.close() : undefined;
    if (done++ === MAX_PER_TURN) sleepHead(queue, head, undefined, 0);
    else if (head.signal?.aborted) leaveLine(queue, head, head.signal.reason);
    else sendOrAdopt(queue, head, undefined);
  }
}

/** Sends the head's call, unless it was sent already, and acts on the answer. */
function sendOrAdopt(queue: WaitingQueue, head: Waiter, sent: SentCall | undefined): void {
  const { limiter, key } = head;
  const call: HeadCall = {
    waiter: head,
    notice: sent === undefined ? limiter.refundNotice(key) : sent.notice,
    outdated: false,
    sentAt: 0,
    onEnd() {},
  };
  queue.call = call;
  function send(): MaybePromise<unknown> {
    const maxDelay = mayWait(head) ? timeLeft(head) : 0;
    const answer = sent?.answer ?? tryToTake(head, maxDelay);
    return andThen(answer, (answer) => settle(queue, call, answer));
  }
  const settled = orElse<unknown>(send, (reason) => fail(head, reason));
  if (!isPromise(settled)) {
    endCall(queue, call);
    return sent === undefined ? undefined : advance(queue);
  }
  call.sentAt = limiter.passing();
  scheduleFailures(queue, advance);
  settled.then(() => {
    endCall(queue, call);
    advance(queue);
  });
}

/** Acts on a decision. Giving units back may take until later. */
function settle(
  queue: WaitingQueue,
  call: HeadCall,
  answer: Attempt,
): MaybePromise<unknown> {
  const { waiter, waiter: { signal } } = call;
  const { decision, sight } = answer;
  // If thousands of callers leave, this caller's turn to leave may not have come yet.
  if (signal?.aborted && isWaiting(waiter)) leaveLine(queue, waiter, signal.reason);
  if (queue.waiting.first !== waiter) return undo(waiter, answer);
  if (decision.allowed) {
    const isDelayed = admitHead(waiter, answer);
    return isDelayed ? sleepUntilStart(queue, waiter, answer) : waiter.resolve(answer);
  }
  if (decision.retryAfter === Infinity) {
    const rule = "cost must be at most the capacity of the store that answered";
    return fail(waiter, rateLimited(waiter, decision, rule));
  }
  // Nothing can be projected from the state of another store, because it has a limit of its own.
  const own = decision.source === undefined ? sight : undefined;
  observeRefusal(waiter, decision, own);
  countWaiting(queue);
  if (queue.waiting.first !== waiter || call.outdated) return undefined;
  const longest = waiter.target?.longestSleep() ?? Infinity;
  sleepHead(queue, waiter, call.notice, Math.min(decision.retryAfter, longest));
  if (own !== undefined) projectAll(queue);
  return undefined;
}

/** Gives back the units that were taken for a head that left while its call was under way. */
function undo(
  { limiter, key, cost, target }: Waiter,
  answer: Attempt,
): MaybePromise<unknown> {
  const { decision, sight } = answer;
  // A failure policy answers without a state, and takes nothing.
  if (!decision.allowed || sight === undefined) return;
  if (target !== undefined) return target.giveBack();
  const giveBack = undoOf(limiter, key, givingBack(cost, decision, sight.mark));
  if (giveBack !== undefined) return giveBack();
  // An algorithm that knows no single calls gives the newest units back, and these were just taken.
  return decision.delay === 0 ? limiter.call(refund, key, cost) : undefined;
}

function endCall(queue: WaitingQueue, call: HeadCall): void {
  if (queue.call === call) queue.call = undefined;
  answered(queue, advance);
  call.onEnd();
}

/** Sleeps until the head may be admitted, leaves, or units are given back. */
function sleepHead(
  queue: WaitingQueue,
  { limiter }: Waiter,
  notice: HeadCall["notice"],
  milliseconds: number,
): void {
  let cancel = () => {};
  const cancelNotice = notice?.(() => tryAgain(queue));
  function sleep(): void {
    cancelNotice?.();
    cancel();
  }
  queue.sleep = sleep;
  cancel = limiter.after(milliseconds, () => {
    cancelNotice?.();
    if (queue.sleep === sleep) queue.sleep = undefined;
    advance(queue);
  });
}

function sleepUntilStart(queue: WaitingQueue, waiter: Waiter, admitted: Attempt): void {
  const { limiter, key, cost } = waiter;
  const { decision, sight } = admitted;
  waiter.giveBack = undoOf(limiter, key, givingBack(cost, decision, sight?.mark));
  waiter.wake = limiter.after(decision.delay, () => {
    waiter.start = () => waiter.resolve(admitted);
    advance(queue);
  });
}

/**
 * Gives back the places of the callers that have left, starting with the newest; then fails the
 * caller that leaves now.
 */
async function cancelStart(
  queue: WaitingQueue,
  waiter: Waiter,
  reason: unknown,
): Promise<void> {
  waiter.wake();
  waiter.cancelled = true;
  uncount(waiter);
  try {
    // The first place is given back at once, so that a call right after the abort can have it.
    let newest = queue.delayed.last;
    for (let undone = 1; newest?.cancelled; undone++) {
      remove(newest);
      const { limiter } = newest;
      await newest.giveBack?.();
      if (undone % MAX_PER_TURN === 0) await new Promise<void>((wake) => limiter.after(0, wake));
      newest = queue.delayed.last;
    }
  } catch {
    // Units that could not be given back stay charged: the safe side.
  }
  waiter.reject(reason);
  advance(queue);
}
