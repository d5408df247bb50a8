/*
 * Gives the units of a request back when it has ended. A refund must neither take units from later
 * calls nor become a way around the limit.
 */

import type { Decision } from "../../../core/decision.ts";
import { guarded } from "../../../core/guarded.ts";
import { internalsOf } from "../../../core/limiter/limiter.ts";
import { andThen, type MaybePromise } from "../../../core/maybe_promise.ts";
import { refundNewest } from "../../../core/verbs/refund_newest.ts";
import { refundUnexpired } from "../../../core/verbs/refund_unexpired.ts";
import type { AnyLimiter, GateOptions, Outcome } from "./rate_limit_options.ts";

/** The status of a request whose client went away before there was a response; nginx's. */
export const GONE_STATUS = 499;

type Refund = GateOptions["refund"];

/**
 * The option `refund` as a function; `undefined` if nothing is ever given back. By its names it
 * gives nothing back to a client that went away: otherwise hanging up would be a way around a
 * limit.
 */
export function refundRule(refund: Refund): Exclude<Refund, string> {
  if (refund === "failed") return ({ status }) => status >= 400 && status !== GONE_STATUS;
  if (refund === "successful") return ({ status }) => status < 400;
  return refund;
}

/**
 * Makes the function to call once when an admitted request has ended: it gives the units back if
 * the rule says so. It never throws: the response is on its way, and an error in an event of the
 * server would end the process.
 *
 * @param giveBack Gives the units back.
 * @param isRefunded The rule; it may be asynchronous.
 * @param failed Given what the rule throws, or rejects with.
 */
export function settlement(
  giveBack: () => unknown,
  isRefunded: (outcome: Outcome) => MaybePromise<boolean>,
  failed: (error: unknown) => void,
): (outcome: Outcome) => void {
  // Units that could not be given back stay charged: the safe side.
  const giveBackQuietly = guarded(giveBack, () => {});
  const decide = guarded((outcome: Outcome) => {
    const answer = isRefunded(outcome);
    return andThen(answer, (isRefunded) => void (isRefunded === true && giveBackQuietly()));
  }, failed);
  let settled = false;
  return function settle(outcome) {
    if (settled) return;
    settled = true;
    decide(outcome);
  };
}

/**
 * Makes the function that gives back units that have just been taken, as far as they still count.
 *
 * Once the key would be fresh again, they no longer do: a refund would give back the units of later
 * calls, in the next window. Each limit of several in one is treated separately, because units of a
 * second expire long before those of a day.
 *
 * A place in a queue is given back only if it is the newest: otherwise the next call would be given
 * the newest one's start, which is taken.
 *
 * @param decision The decision by which they were taken.
 * @param freshAt When the key was to be fresh after that call: it marks a place in a queue.
 */
export function refundOf(
  limiter: AnyLimiter,
  key: string,
  units: number,
  decision: Decision,
  freshAt?: number,
): () => unknown {
  const internals = internalsOf(limiter);
  const time = () => internals?.now() ?? performance.now();
  const takenAt = time();

  return function giveBack() {
    const passed = time() - takenAt;
    if (internals === undefined) return limiter.refund(key, units);
    if (freshAt !== undefined) return internals.call(refundNewest, key, { cost: units, freshAt });
    if (passed >= decision.resetAfter) return undefined;
    return internals.call(refundUnexpired, key, { units, decision, passed });
  };
}
