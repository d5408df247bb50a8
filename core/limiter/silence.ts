/*
 * Fails callers whose `maxWait` passes while the store does not answer. Each queue has one timer, for
 * its earliest deadline, and only while a call is under way.
 *
 * When the time of the head is up, its call is given up: the next caller becomes the head and tries, and
 * units that the old call takes later are given back. The silence counts from the first unanswered
 * call, so callers behind the head fail in time without a call of their own.
 */

import { StoreUnavailableError } from "../errors.ts";
import { MAX_PER_TURN } from "./abort_groups.ts";
import { earliest, popDeadline, pushDeadline } from "./deadlines.ts";
import {
  fail,
  isWaiting,
  type Waiter,
  type WaitingQueue,
  type WaitRequest,
} from "./waiting_queue.ts";

/**
 * The milliseconds that a store always has for an answer, so that a call sent just before its
 * caller's deadline is not given up at once.
 */
export const MIN_ANSWER_TIME = 250;

/** Continues a queue whose head has failed. */
type Advance = (queue: WaitingQueue) => void;

/** Makes callers fail at their deadlines while the head's call is not answered. */
export function scheduleFailures(queue: WaitingQueue, advance: Advance): void {
  const { call } = queue;
  if (call === undefined) return;
  queue.silentSince ??= call.sentAt;
  const due = nextDue(queue);
  if (due === undefined) return stopTimer(queue);
  if (queue.silence === undefined || due < queue.silenceEnds) wakeAt(queue, due, advance);
}

/** Notes that the store has answered, even if the answer is to a call that was given up. */
export function answered(queue: WaitingQueue, advance: Advance): void {
  stopTimer(queue);
  queue.silentSince = queue.call?.sentAt;
  scheduleFailures(queue, advance);
}

/** The instant at which the next caller fails, unless the store answers before. */
function nextDue({ deadlines, call, silentSince }: WaitingQueue): number | undefined {
  const first = earliest(deadlines, isWaiting);
  if (first === undefined) return undefined;
  const afterSilence = silentSince! + MIN_ANSWER_TIME;
  if (first !== call!.waiter) return Math.max(first.deadline, afterSilence);
  popDeadline(deadlines.heap);
  const second = earliest(deadlines, isWaiting);
  pushDeadline(deadlines, first);
  const due = Math.max(first.deadline, call!.sentAt + MIN_ANSWER_TIME);
  return Math.min(due, Math.max(second?.deadline ?? Infinity, afterSilence));
}

function stopTimer(queue: WaitingQueue): void {
  queue.silence?.();
  queue.silence = undefined;
}

function wakeAt(queue: WaitingQueue, due: number, advance: Advance): void {
  stopTimer(queue);
  const { limiter } = queue.call!.waiter;
  let cancel = () => {};
  const silence = () => cancel();
  queue.silence = silence;
  queue.silenceEnds = due;
  cancel = limiter.after(Math.max(0, due - limiter.passing()), () => {
    if (queue.silence === silence) queue.silence = undefined;
    failDue(queue, advance);
  });
}

/** Fails the callers whose time is up, up to a bound for each turn; then the queue goes on. */
function failDue(queue: WaitingQueue, advance: Advance): void {
  const { call, deadlines } = queue;
  if (call === undefined) return;
  const { limiter } = call.waiter;
  const now = limiter.passing();
  const mayFailHead = now >= call.sentAt + MIN_ANSWER_TIME;
  let head: Waiter | undefined;
  let failures = 0;
  while (failures < MAX_PER_TURN) {
    const waiter = earliest(deadlines, isWaiting);
    if (waiter === undefined || now < waiter.deadline) break;
    if (waiter === call.waiter && !mayFailHead) popDeadline(deadlines.heap), head = waiter;
    else failures += failUnanswered(queue, waiter);
  }
  if (head !== undefined) pushDeadline(deadlines, head);
  if (queue.waiting.first !== call.waiter) queue.call = undefined;
  if (queue.call === undefined) advance(queue);
  else scheduleFailures(queue, advance);
}

function failUnanswered({ call }: WaitingQueue, waiter: Waiter): number {
  fail(waiter, unanswered(waiter, call!.waiter === waiter ? "unknown" : "no"));
  return 1;
}

/** The error of a call that a store has not answered by its caller's deadline. */
export function unanswered(
  { key, cost, maxWait }: WaitRequest,
  applied: "no" | "unknown",
): StoreUnavailableError {
  const rule = `the store must answer within maxWait (${maxWait} ms)`;
  return new StoreUnavailableError(
    `Cannot acquire ${cost} of ${JSON.stringify(key)} as ${rule}: it has not answered`,
    applied,
  );
}
