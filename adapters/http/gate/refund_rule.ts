import { guarded } from "../../../core/guarded.ts";
import { andThen, type MaybePromise } from "../../../core/maybe_promise.ts";
import { internalsOf } from "../../../core/limiter/limiter.ts";
import type { AnyLimiter, Outcome, RateLimitOptions } from "./rate_limit_options.ts";

/** Whether a request that has ended gets its units back. */
export type RefundRule = NonNullable<
  Exclude<RateLimitOptions<unknown, unknown>["refund"], string>
>;

/** The status of a request whose client went away before there was a response; nginx's. */
export const GONE_STATUS = 499;

/**
 * The option `refund` as a function; `undefined` if nothing is ever given back. By its names it
 * gives nothing back to a client that went away: otherwise hanging up would be a way round a limit.
 */
export function refundRule(
  refund: RateLimitOptions<unknown, unknown>["refund"],
): RefundRule | undefined {
  if (refund === "failed") return ({ status }) => status >= 400 && status !== GONE_STATUS;
  if (refund === "successful") return ({ status }) => status < 400;
  return refund;
}

/**
 * What is to be called once when an admitted request has ended: it gives the units back if the rule
 * says so. It never throws: the response is on its way, and where it comes from an event of the
 * server's, an error would end the process.
 *
 * @param limiter Whose clock counts.
 * @param giveBack Gives the units back; called with the milliseconds that have passed.
 * @param isRefunded The rule; it may be asynchronous.
 * @param failed Given what the rule throws, or rejects with.
 */
export function settlement(
  limiter: AnyLimiter,
  giveBack: (passed: number) => unknown,
  isRefunded: (outcome: Outcome) => MaybePromise<boolean>,
  failed: (error: unknown) => void,
): (outcome: Outcome) => void {
  const takenAt = timeOf(limiter);
  // What could not be given back stays charged: the safe side.
  const giveBackQuietly = guarded(() => giveBack(timeOf(limiter) - takenAt), () => {});
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

/** Milliseconds by the limiter's own clock, or since some instant. */
function timeOf(limiter: AnyLimiter): number {
  return internalsOf(limiter)?.now() ?? performance.now();
}
