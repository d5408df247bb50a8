/*
 * Waiting for one's turn: what runs the waiting queue of a key.
 *
 * Only the head of a queue tries, and nothing is taken for those behind it; so a large cost is not
 * overtaken by small ones, and whoever leaves has taken nothing. The head sleeps for as long as its
 * refusal said, then tries again: one timer per queue, and one call to the store at a time. Those
 * who were admitted by a `leakyQueue` then sleep out their delay.
 */

import { isPromise, type MaybePromise } from "../maybe_promise.ts";
import type { Decision } from "../decision.ts";
import { waitForStart } from "./delayed_start.ts";
import { type Attempt, refundingNewest, withMaxDelay } from "./projection.ts";
import { rateLimited } from "./rate_limited.ts";
import {
  type Admission,
  admitHead,
  dequeue,
  dropIfEmpty,
  enqueue,
  observeRefusal,
  queueFor,
  refuseHopeless,
  timeLeft,
  type Waiter,
  type WaitingQueue,
  type WaitingQueues,
  type WaitRequest,
  wakeHead,
} from "./waiting_queue.ts";

/**
 * Waits for one's turn, takes, and waits out the delay.
 *
 * @param queues The store's queues.
 * @param stored The stored key.
 * @throws {RateLimitedError} If the wait would be longer than `maxWait`.
 */
export async function waitInQueue(
  queues: WaitingQueues,
  stored: string,
  request: WaitRequest,
): Promise<Decision> {
  request.signal?.throwIfAborted();
  const queue = queueFor(queues, stored);
  const close = () => dropIfEmpty(queues, stored, queue);
  try {
    const { decision, delayed } = await join(queue, request, close);
    if (delayed !== undefined) await waitForStart(queue, request, delayed, decision.delay);
    return decision;
  } finally {
    close();
  }
}

/** Wakes the head of a key's queue, if there is one, as units were given back. */
export function wakeQueue(queues: WaitingQueues, stored: string): void {
  const queue = queues.get(stored);
  if (queue !== undefined) wakeHead(queue);
}

/** Joins, and is admitted or fails. The first in the queue tries before anything else can run. */
function join(queue: WaitingQueue, request: WaitRequest, close: () => void): Promise<Admission> {
  return new Promise((resolve, reject) => {
    const waiter = waiterOf(queue, request, resolve, reject);
    enqueue(queue, waiter);
    try {
      if (queue.serving) refuseHopeless(queue);
      else void serveHeads(queue).then(close);
    } catch (reason) {
      waiter.fail(reason);
    }
  });
}

function waiterOf(
  queue: WaitingQueue,
  request: WaitRequest,
  resolve: (admission: Admission) => void,
  reject: (reason: unknown) => void,
): Waiter {
  const { limiter, maxWait, signal, afterUndo } = request;
  const abort = () => waiter.fail(signal!.reason);
  const waiter: Waiter = {
    request,
    deadline: Math.ceil(limiter.passing() + maxWait),
    projection: undefined,
    onAttemptEnd: undefined,
    admit(admission) {
      signal?.removeEventListener("abort", abort);
      resolve(admission);
    },
    fail(reason) {
      const isTrying = queue.headInFlight && queue.waiting[0] === waiter;
      dequeue(queue, waiter);
      signal?.removeEventListener("abort", abort);
      if (afterUndo && isTrying) waiter.onAttemptEnd = () => reject(reason);
      else reject(reason);
    },
  };
  signal?.addEventListener("abort", abort);
  return waiter;
}

/** Lets the head try until the queue is empty. It waits for nothing that is known at once. */
async function serveHeads(queue: WaitingQueue): Promise<void> {
  queue.serving = true;
  for (let head = queue.waiting[0]; head !== undefined; head = queue.waiting[0]) {
    try {
      queue.headInFlight = true;
      queue.refunded = false;
      let attempt: Attempt | undefined;
      const answer = attemptHead(queue, head, (seen) => attempt = seen);
      const decision = isPromise(answer) ? await answer : answer;
      queue.headInFlight = false;
      const next = settleHead(queue, head, decision, attempt);
      if (next !== undefined) await next;
    } catch (reason) {
      queue.headInFlight = false;
      head.fail(reason);
    }
    head.onAttemptEnd?.();
  }
  queue.serving = false;
}

function attemptHead(
  queue: WaitingQueue,
  head: Waiter,
  report: (attempt: Attempt) => void,
): MaybePromise<Decision> {
  const { limiter, key, cost } = head.request;
  const keepsState = () => queue.withDeadline > 0;
  return limiter.run(
    key,
    withMaxDelay(limiter.algorithm, timeLeft(head), report, keepsState),
    cost,
  );
}

/** Does what follows from the head's decision; returns what the next attempt has to wait for. */
function settleHead(
  queue: WaitingQueue,
  head: Waiter,
  decision: Decision,
  seen: Attempt | undefined,
): Promise<void> | undefined {
  // A failure policy answers without the state, and takes nothing.
  const attempt = decision.source === "policy" ? undefined : seen;
  if (queue.waiting[0] !== head) return undoAttempt(queue, head, decision, attempt);
  if (decision.allowed) return void admitHead(queue, decision, attempt);
  if (decision.retryAfter === Infinity) return void head.fail(neverAdmitted(head, decision));
  // From the state of another store, which has a limit of its own, nothing can be projected.
  const own = decision.source === undefined ? attempt : undefined;
  observeRefusal(queue, head, decision, own);
  refuseHopeless(queue);
  const needsState = queue.withDeadline > 0 && queue.observed === undefined && own !== undefined;
  if (queue.waiting[0] !== head || queue.refunded || needsState) return undefined;
  return sleepHead(queue, head, decision.retryAfter);
}

/** Gives back what was taken for a head that had left while its call was under way. */
async function undoAttempt(
  queue: WaitingQueue,
  { request }: Waiter,
  decision: Decision,
  attempt: Attempt | undefined,
): Promise<void> {
  if (!decision.allowed || attempt === undefined) return;
  const { limiter: { algorithm, run }, key, cost } = request;
  const refunding = decision.delay === 0 ? algorithm : refundingNewest(algorithm, attempt.freshAt);
  wakeHead(queue);
  await run(key, refunding, -cost);
}

/** Sleeps until the head may be admitted, leaves, or units are given back. */
function sleepHead(
  queue: WaitingQueue,
  { request }: Waiter,
  milliseconds: number,
): Promise<void> {
  return new Promise((resolve) => {
    let cancel = () => {};
    queue.wake = () => {
      queue.wake = undefined;
      cancel();
      resolve();
    };
    cancel = request.limiter.after(milliseconds, queue.wake);
  });
}

/** The error of a head that another store than the limiter's own can never serve. */
function neverAdmitted({ request }: Waiter, decision: Decision) {
  const rule = "cost must be at most what the store that answers can admit";
  return rateLimited(request, decision, rule);
}
