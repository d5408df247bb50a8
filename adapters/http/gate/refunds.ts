/*
 * Gives the units of a request back when it has ended, by receipts: a refund must neither take units
 * from later calls nor become a way around the limit.
 */

import { guarded } from "../../../core/guarded.ts";
import { isPromise } from "../../../core/maybe_promise.ts";
import type { Awaitable, GateOptions, Outcome } from "./rate_limit_options.ts";

/** The status of a request whose client went away before there was a response, as in nginx. */
export const GONE_STATUS = 499;

type Refund = GateOptions["refund"];

/**
 * The option `refund` as a function; `undefined` if nothing is ever given back. The named rules
 * give nothing back to a client that went away; otherwise hanging up would be a way around a limit.
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
 * @param failed Receives the error that the rule throws or rejects with.
 */
export function settlement(
  giveBack: () => unknown,
  isRefunded: (outcome: Outcome) => Awaitable<boolean>,
  failed: (error: unknown) => void,
): (outcome: Outcome) => void {
  // Units that could not be given back stay charged: the safe side.
  const giveBackQuietly = guarded(giveBack, () => {});
  const decide = guarded((outcome: Outcome) => {
    const answer = isRefunded(outcome);
    if (isPromise(answer)) return answer.then(endBy);
    return endBy(answer);
  }, failed);

  function endBy(isRefunded: boolean): void {
    if (isRefunded === true) giveBackQuietly();
  }

  let settled = false;
  return function settle(outcome) {
    if (settled) return;
    settled = true;
    decide(outcome);
  };
}
