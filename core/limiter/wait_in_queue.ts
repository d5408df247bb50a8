/*
 * Waiting for one's turn.
 *
 * Each key that somebody waits for has a line. Only its head tries, and nothing is taken for those
 * behind it; so a large cost is not overtaken by small ones, and whoever gives up has taken nothing.
 * The head sleeps for as long as its refusal said, then tries again: one timer per line, and one
 * call to the store at a time. Those who were admitted by a `leakyQueue` then sleep out their delay.
 *
 * Who has a `maxWait` is judged when joining, and again when the head was refused otherwise than
 * foreseen: from the state that the head's last refusal saw, all in line are admitted one after the
 * other, as a fold of the reducer. What each one leads to is kept, so that a joiner costs one step;
 * all are judged anew when the clock that decides has stepped back.
 * Where another store answers, or a failure policy, only the head's own wait is known: whoever has no
 * time for that is refused.
 */

import { isPromise, type MaybePromise } from "../maybe_promise.ts";
import type { Decision } from "../decision.ts";
import { RateLimitedError } from "../errors.ts";
import {
  type Admission,
  dropIfEmpty,
  type ObservedState,
  queueFor,
  type Waiter,
  type WaitingQueue,
  type WaitingQueues,
  type WaitRequest,
  wakeHead,
} from "./waiting_queue.ts";
import { type Attempt, projectAdmission, refundingNewest, withMaxDelay } from "./projection.ts";
import { delayCall, waitForStart } from "./delayed_start.ts";

/** A store's clock that is further behind than foreseen, in milliseconds, has stepped back. */
const LARGEST_JITTER = 100;

/**
 * Waits for one's turn, takes, and waits out the delay.
 *
 * @param lines The store's lines.
 * @param stored The stored key.
 * @throws {RateLimitedError} If the wait would be longer than `maxWait`.
 */
export async function waitInQueue(
  lines: WaitingQueues,
  stored: string,
  wish: WaitRequest,
): Promise<Decision> {
  wish.signal?.throwIfAborted();
  const line = queueFor(lines, stored);
  const close = () => dropIfEmpty(lines, stored, line);
  try {
    const { decision, delayed } = await enqueue(line, wish, close);
    if (delayed !== undefined) await waitForStart(line, wish, delayed, decision.delay);
    return decision;
  } finally {
    close();
  }
}

/** Tells the head of a key's line, if there is one, that units were given back. */
export function wakeQueue(lines: WaitingQueues, stored: string): void {
  const line = lines.get(stored);
  if (line !== undefined) wakeHead(line);
}

/** Queues, and is admitted or fails. The first in line tries before anything else can run. */
function enqueue(line: WaitingQueue, wish: WaitRequest, close: () => void): Promise<Admission> {
  const { maxWait, signal } = wish;
  return new Promise((resolve, reject) => {
    const waiter: Waiter = {
      request: wish,
      deadline: Math.ceil(wish.limiter.passing() + maxWait),
      projection: undefined,
      onAttemptEnd: undefined,
      admit(admission) {
        signal?.removeEventListener("abort", abort);
        resolve(admission);
      },
      fail(reason) {
        const tries = line.headInFlight && line.waiting[0] === waiter;
        dequeue(line, waiter);
        signal?.removeEventListener("abort", abort);
        if (wish.afterUndo && tries) waiter.onAttemptEnd = () => reject(reason);
        else reject(reason);
      },
    };
    const abort = () => waiter.fail(signal!.reason);
    signal?.addEventListener("abort", abort);
    line.waiting.push(waiter);
    if (maxWait < Infinity) line.withDeadline++;
    try {
      if (line.serving) refuseHopeless(line);
      else void serveHeads(line).then(close);
    } catch (reason) {
      waiter.fail(reason);
    }
  });
}

/** Takes a waiter out of the line, if it is in it. */
function dequeue(line: WaitingQueue, waiter: Waiter): void {
  const index = line.waiting.indexOf(waiter);
  if (index === -1) return;
  line.waiting.splice(index, 1);
  if (waiter.deadline < Infinity) line.withDeadline--;
  line.projected = Math.min(line.projected, index);
  if (index === 0) line.wake?.();
}

/** Lets the head try until the line is empty. */
async function serveHeads(line: WaitingQueue): Promise<void> {
  line.serving = true;
  for (let head = line.waiting[0]; head !== undefined; head = line.waiting[0]) {
    try {
      line.headInFlight = true;
      line.refunded = false;
      let sight: Attempt | undefined;
      const answer = attempt(line, head, (seen) => sight = seen);
      const decision = isPromise(answer) ? await answer : answer;
      line.headInFlight = false;
      // A failure policy answers without the state, and takes nothing.
      if (decision.source === "policy") sight = undefined;
      // By the state of another store, which has a limit of its own, nothing can be foreseen.
      const foresight = decision.source === undefined ? sight : undefined;
      if (line.waiting[0] !== head) await undoAttempt(line, head, decision, sight);
      else if (decision.allowed) admit(line, head, decision, sight);
      else if (decision.retryAfter === Infinity) head.fail(neverAdmitted(head, decision));
      else {
        observeRefusal(line, head, decision, foresight);
        refuseHopeless(line);
        const isUnseen = line.withDeadline > 0 && line.observed === undefined &&
          foresight !== undefined;
        if (line.waiting[0] === head && !line.refunded && !isUnseen) {
          await sleep(line, head, decision.retryAfter);
        }
      }
    } catch (reason) {
      line.headInFlight = false;
      head.fail(reason);
    }
    head.onAttemptEnd?.();
  }
  line.serving = false;
}

function attempt(
  line: WaitingQueue,
  { request, deadline }: Waiter,
  tell: (sight: Attempt) => void,
): MaybePromise<Decision> {
  const { limiter, key, cost } = request;
  const patience = Math.max(0, deadline - passing(request));
  const trying = withMaxDelay(limiter.algorithm, patience, tell, () => line.withDeadline > 0);
  return limiter.run(key, trying, cost);
}

/** Gives back what was taken for a head that had left while its call was under way. */
async function undoAttempt(
  line: WaitingQueue,
  { request }: Waiter,
  decision: Decision,
  sight: Attempt | undefined,
): Promise<void> {
  if (!decision.allowed || sight === undefined) return;
  const { limiter, key, cost } = request;
  const refunding = decision.delay === 0
    ? limiter.algorithm
    : refundingNewest(limiter.algorithm, sight.freshAt);
  wakeHead(line);
  await limiter.run(key, refunding, -cost);
}

function admit(
  line: WaitingQueue,
  head: Waiter,
  decision: Decision,
  sight: Attempt | undefined,
): void {
  line.waiting.shift();
  if (head.deadline < Infinity) line.withDeadline--;
  const isForeseen = line.projected > 0 && decision.source === undefined;
  line.observed = isForeseen ? { ...line.observed!, ...head.projection! } : undefined;
  line.projected = isForeseen ? line.projected - 1 : 0;
  const starter = sight && delayCall(line, decision, sight.freshAt, head.request.cost);
  head.admit({ decision, delayed: starter });
}

/** Keeps what a refused head saw, unless all is as foreseen or nobody is in a hurry. */
function observeRefusal(
  line: WaitingQueue,
  { request, projection }: Waiter,
  decision: Decision,
  sight: Attempt | undefined,
): void {
  if (sight === undefined) return refuseLate(line, decision);
  const foreseen = line.projected > 0 && projection!.at === sight.at + decision.retryAfter;
  if (foreseen && storeTime(line.observed!) - sight.at <= LARGEST_JITTER) return;
  line.projected = 0;
  line.observed = undefined;
  // Whoever was not in a hurry when the store was asked may be now: the head then tries again.
  if (line.withDeadline === 0 || sight.refusedState === undefined) return;
  line.observed = {
    ...sight.refusedState,
    limiter: request.limiter,
    ahead: sight.at - passing(request),
  };
}

/** Refuses those whose time is up before the head may try again: all that is known unseen. */
function refuseLate(line: WaitingQueue, decision: Decision): void {
  line.projected = 0;
  line.observed = undefined;
  for (const waiter of [...line.waiting]) {
    if (!isTooLate(waiter, decision.retryAfter)) continue;
    waiter.fail(rateLimited(waiter.request, decision));
  }
}

/** Whether so long a wait from now would end after the deadline. Waits are whole milliseconds. */
function isTooLate({ request, deadline }: Waiter, wait: number): boolean {
  return passing(request) + wait > deadline;
}

/** The store's time, as far as can be told. */
function storeTime(base: ObservedState): number {
  return passing(base) + base.ahead;
}

/** The whole milliseconds that have passed, from an instant of no meaning. */
function passing({ limiter }: Pick<WaitRequest, "limiter">): number {
  return Math.floor(limiter.passing());
}

/** Refuses those who could not start in time, as far as can be foreseen. */
function refuseHopeless(line: WaitingQueue): void {
  const { observed } = line;
  if (line.headInFlight || line.withDeadline === 0) return;
  // Without a base the head tries again, to see the state.
  if (observed === undefined) return line.wake?.();
  while (line.projected < line.waiting.length) {
    const waiter = line.waiting[line.projected]!;
    const { limiter, cost } = waiter.request;
    const from = line.projected === 0 ? observed : line.waiting[line.projected - 1]!.projection!;
    const instant = Math.max(0, storeTime(observed));
    const projection = projectAdmission(limiter.algorithm, from, instant, cost);
    if (isTooLate(waiter, projection.wait)) {
      const [look] = limiter.algorithm.step(observed.state, instant, 0);
      waiter.fail(
        rateLimited(waiter.request, { ...look, allowed: false, retryAfter: projection.wait }),
      );
    } else {
      waiter.projection = projection;
      line.projected++;
    }
  }
}

/** Sleeps until the head may be admitted, leaves, or units are given back. */
function sleep(line: WaitingQueue, { request }: Waiter, milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    let cancel = () => {};
    line.wake = () => {
      line.wake = undefined;
      cancel();
      resolve();
    };
    cancel = request.limiter.after(milliseconds, line.wake);
  });
}

/** The error of a head that another store than the limiter's own can never serve. */
function neverAdmitted({ request }: Waiter, decision: Decision): RateLimitedError {
  return rateLimited(
    request,
    decision,
    "cost must be at most what the store that answers can admit",
  );
}

/** The error of a caller that gives up, or is given up. */
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
