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
import { earliest } from "./deadlines.ts";
import {
  endSleep,
  fail,
  forgetProjections,
  forgetState,
  isWaiting,
  type ObservedState,
  passing,
  type Projection,
  rateLimited,
  type Waiter,
  type WaitingQueue,
} from "./waiting_queue.ts";

/**
 * A store's clock counts as stepped back if it is more milliseconds than this behind the projected
 * time.
 */
const LARGEST_JITTER = 100;
/** The most projections in one turn of the event loop. */
const MAX_PROJECTIONS = 1_000;
/** The most refusals in one turn: an error costs as much as several projections. */
const MAX_REFUSALS = 250;
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
export function observeRefusal(
  waiter: Waiter,
  decision: Decision,
  sight: Sight | undefined,
): void {
  const { queue } = waiter;
  if (sight === undefined) return refuseLate(queue, decision);
  const { observed, projectedTo } = queue;
  const at = sight.at + decision.retryAfter;
  if (projectedTo !== undefined) {
    const projected = waiter.projection!.at;
    const hasSteppedBack = storeTime(observed!) - sight.at > LARGEST_JITTER;
    if (hasSteppedBack || at > projected) forgetProjections(queue);
    else if (at < projected) queue.isPessimistic = true;
  }
  if (sight.refusedState === undefined) return forgetState(queue);
  // The lead is kept as long as projections hold, so that the lag of a clock that stands still adds
  // up.
  const ahead = queue.projectedTo === undefined ? sight.at - passing(waiter) : observed!.ahead;
  queue.observed = { ...sight.refusedState, limiter: waiter.limiter, ahead, isExact: true };
}

/**
 * Refuses the callers whose time is up before the head may try again. Without a state, nothing else
 * is known.
 */
function refuseLate(queue: WaitingQueue, decision: Decision): void {
  forgetState(queue);
  while (true) {
    const waiter = earliest(queue.deadlines, isWaiting);
    if (waiter === undefined || !isTooLate(waiter, decision.retryAfter)) return;
    fail(waiter, rateLimited(waiter, decision));
  }
}

/**
 * Refuses the callers that cannot start in time, as far as can be projected.
 *
 * @param again Called in a later turn if there is more to do.
 */
export function refuseByProjection(queue: WaitingQueue, again: () => void): void {
  let waiter = nextToProject(queue);
  if (queue.deadlines.live === 0 || waiter === undefined) return;
  const { limiter } = waiter;
  const now = limiter.passing();
  if (now < queue.restUntil) return restUntil(queue, waiter, again);
  let projections = 0;
  let refusals = 0;
  while (waiter !== undefined && projections < MAX_PROJECTIONS && refusals < MAX_REFUSALS) {
    const { observed } = queue;
    // Without a state there is nothing to project from, so the head tries again.
    if (observed === undefined) return endSleep(queue);
    projections++;
    if (!project(queue, observed, waiter)) refusals++;
    waiter = nextToProject(queue);
  }
  if (projections > FREE_PROJECTIONS) {
    queue.restUntil = now + Math.ceil(projections / PROJECTIONS_A_MILLISECOND);
  }
  if (waiter !== undefined) restUntil(queue, waiter, again);
}

/** The first waiter without a projection. */
function nextToProject({ projectedTo, waiting }: WaitingQueue): Waiter | undefined {
  return projectedTo === undefined ? waiting.first : projectedTo.next;
}

/** Projects a waiter from the waiter before it; returns `false` if the projection refused it. */
function project(queue: WaitingQueue, observed: ObservedState, waiter: Waiter): boolean {
  const { limiter: { algorithm }, cost } = waiter;
  const from = queue.projectedTo === undefined ? observed : queue.projectedTo.projection!;
  const instant = Math.max(0, storeTime(observed));
  const projection = projectAdmission(algorithm, from, instant, cost);
  if (!isTooLate(waiter, projection.wait)) {
    waiter.projection = projection;
    queue.projectedTo = waiter;
    return true;
  }
  if (queue.isPessimistic || !observed.isExact) {
    forgetProjections(queue);
    if (!observed.isExact) queue.observed = undefined;
    return true;
  }
  const [look] = algorithm.step(observed.state, instant, 0);
  fail(waiter, rateLimited(waiter, { ...look, allowed: false, retryAfter: projection.wait }));
  return false;
}

/** Goes on when the rest is over. */
function restUntil(queue: WaitingQueue, { limiter }: Waiter, again: () => void): void {
  if (queue.rest !== undefined) return;
  let cancel = () => {};
  const rest = () => cancel();
  queue.rest = rest;
  cancel = limiter.after(Math.max(0, queue.restUntil - limiter.passing()), () => {
    if (queue.rest === rest) queue.rest = undefined;
    again();
  });
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
function isTooLate(waiter: Waiter, wait: number): boolean {
  return waiter.deadline < Infinity && passing(waiter) + wait > waiter.deadline;
}

/** The store's time, as far as is known. */
function storeTime(observed: ObservedState): number {
  return passing(observed) + observed.ahead;
}
