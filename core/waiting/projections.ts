/*
 * The callers that are refused because no turn will come in time.
 *
 * Whether a caller with a `maxWait` can be served in time is projected when it joins: from the state
 * that the head's last refusal saw, all who wait are admitted one after the other, as a fold of the
 * reducer. Each one's projection is kept, so that a joiner costs one step.
 *
 * When a caller leaves, those behind it are admitted earlier. Their projections stay, but are now
 * upper bounds: a caller that is in time by its bound is in time. All are projected anew only when
 * somebody is too late by such a bound, or when the head was refused for longer than projected,
 * because others were faster or the clock that decides has stepped back. Callers can cause both as
 * often as they like, so a rest follows many projections, and callers that join meanwhile wait for
 * theirs.
 *
 * If another store or a failure policy answers, only the head's own wait is known: callers that
 * have no time for that are refused.
 */

import type { Algorithm } from "../algorithm.ts";
import type { Decision } from "../decision.ts";
import { LAST_INSTANT } from "../options/checks.ts";
import type { Sight, StateAt } from "../verbs/attempt.ts";
import { earliest } from "../deadlines.ts";
import {
  fail,
  forgetProjections,
  forgetState,
  isWaiting,
  type ObservedState,
  type Projection,
  tryAgain,
  type Waiter,
  type WaitingQueue,
} from "./queue.ts";
import { rateLimited } from "./wait_errors.ts";

/**
 * A store's clock counts as stepped back if it is more milliseconds than this behind the projected
 * time.
 */
const LARGEST_JITTER = 100;
/** The most projections in one turn of the event loop. */
const MAX_PROJECTIONS = 1_000;
/** How many projections are free: no rest follows them. */
const FREE_PROJECTIONS = 100;
/** How many projections cost a millisecond of rest. */
const PROJECTIONS_A_MILLISECOND = 200;

/**
 * Keeps the state that a refused head saw; forgets all projections if the head has to wait for
 * longer than projected.
 *
 * @param sight The head's view of the key; `undefined` if the limiter's own store did not answer.
 */
export function observeRefusal(head: Waiter, decision: Decision, sight: Sight | undefined): void {
  const { queue } = head;
  if (sight?.refusedState === undefined) {
    forgetState(queue);
    if (head.taking.foretells && sight === undefined) refuseLate(queue, decision);
    return;
  }
  const { observed, projectedTo } = queue;
  const at = sight.at + decision.retryAfter;
  if (projectedTo !== undefined) {
    const projected = head.projection!.at;
    const hasSteppedBack = storeTime(queue, observed!) - sight.at > LARGEST_JITTER;
    if (hasSteppedBack || at > projected) forgetProjections(queue);
    else if (at < projected) queue.isPessimistic = true;
  }
  // The lead is kept as long as projections hold, so that the lag of a clock that stands still adds
  // up.
  const ahead = queue.projectedTo === undefined ? sight.at - passing(queue) : observed!.ahead;
  queue.observed = { ...sight.refusedState, ahead, isExact: true };
}

/** Refuses the callers whose time is up before the head may try again. */
function refuseLate(queue: WaitingQueue, decision: Decision): void {
  while (true) {
    const waiter = earliest(queue.deadlines, isWaiting);
    if (waiter === undefined || !isTooLate(waiter, decision.retryAfter)) return;
    fail(waiter, () => rateLimited(waiter, decision));
  }
}

/** The first waiter without a projection, if any waiter needs one and there is a state for it. */
export function nextToProject(queue: WaitingQueue): Waiter | undefined {
  const { projectedTo, waiting, deadlines, observed } = queue;
  if (deadlines.live === 0 || observed === undefined) return undefined;
  return projectedTo === undefined ? waiting.first : projectedTo.next;
}

/** Refuses the callers that cannot start in time, as far as can be projected in this turn. */
export function refuseByProjection(queue: WaitingQueue, now: number): void {
  let projections = 0;
  while (now >= queue.restsUntil && projections < MAX_PROJECTIONS) {
    const waiter = nextToProject(queue);
    if (waiter === undefined) break;
    project(queue, queue.observed!, waiter);
    projections++;
    // Without a state there is nothing to project from, so the head tries again.
    if (queue.observed === undefined) tryAgain(queue);
  }
  if (projections > FREE_PROJECTIONS) {
    queue.restsUntil = now + Math.ceil(projections / PROJECTIONS_A_MILLISECOND);
  }
}

/** Projects a waiter from the waiter before it. */
function project(queue: WaitingQueue, observed: ObservedState, waiter: Waiter): void {
  const { limiter: { algorithm }, cost } = waiter;
  const from = queue.projectedTo === undefined ? observed : queue.projectedTo.projection!;
  const instant = Math.max(0, storeTime(queue, observed));
  const projection = projectAdmission(algorithm, from, instant, cost);
  if (!isTooLate(waiter, projection.wait)) {
    waiter.projection = projection;
    queue.projectedTo = waiter;
  } else if (!observed.isExact) forgetState(queue);
  else if (queue.isPessimistic) forgetProjections(queue);
  else {
    const [look] = algorithm.step(observed.state, instant, 0);
    const refusal = { ...look, allowed: false, retryAfter: projection.wait };
    fail(waiter, () => rateLimited(waiter, refusal));
  }
}

/** The earliest admission of a call if nothing else happens before. */
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

/** Whether a wait that begins now would end after the deadline. Waits are whole milliseconds. */
function isTooLate({ deadline, queue }: Waiter, wait: number): boolean {
  return deadline < Infinity && passing(queue) + wait > deadline;
}

/** The store's time, as far as is known. */
function storeTime(queue: WaitingQueue, observed: ObservedState): number {
  return passing(queue) + observed.ahead;
}

function passing(queue: WaitingQueue): number {
  return Math.floor(queue.passing());
}
