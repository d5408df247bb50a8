/*
 * A permit that is asked for once, without waiting.
 */

import type { Decision } from "../decision.ts";
import { StoreUnavailableError } from "../errors.ts";
import { isPromise, type MaybePromise, orElse } from "../maybe_promise.ts";
import type { LimiterInternals } from "./limiter_internals.ts";
import { disposing } from "./open_permit.ts";
import type { Held } from "./permit.ts";
import type { AskedPermit, PermitDesk } from "./permit_desk.ts";

/** A limiter whose algorithm has permits, and its permits. */
export interface PermitLimiter {
  readonly limiter: LimiterInternals;
  readonly desk: PermitDesk;
}

/** Holds a permit at once, or not at all. It checks nothing. */
export function holdNow(permits: PermitLimiter, key: string, cost: number): MaybePromise<Held> {
  const asked = permits.desk.ask(key, cost);
  const answer = takePermit(permits, key, asked);
  return isPromise(answer)
    ? answer.then((decision) => heldOf(permits, key, asked, decision))
    : heldOf(permits, key, asked, answer);
}

/**
 * Asks the store for a permit. If the call fails although the store may have given a permit, that
 * permit is released.
 */
export function takePermit(
  { limiter, desk }: PermitLimiter,
  key: string,
  { argument, release }: AskedPermit,
): MaybePromise<Decision> {
  return orElse(() => limiter.call(desk.verb, key, argument), (error) => {
    if (error instanceof StoreUnavailableError && error.applied === "unknown") void release();
    throw error;
  });
}

/** The answer to a request for a permit, which is open from now on if the store has given it. */
export function heldOf(
  { limiter }: PermitLimiter,
  key: string,
  asked: AskedPermit,
  decision: Decision,
): Held {
  limiter.report(decision, key, asked.argument.cost);
  const permit = decision.allowed ? asked.open(decision) : undefined;
  return { decision, permit, ...disposing(() => permit?.release()) };
}
