import type { Algorithm } from "../../../core/algorithm.ts";
import { all } from "../../../core/algorithms/all.ts";
import type { Decision } from "../../../core/decision.ts";
import { guarded } from "../../../core/guarded.ts";
import { internalsOf } from "../../../core/limiter/limiter.ts";
import { withoutRefunds } from "../../../core/limiter/wrapped_algorithm.ts";
import { andThen, type MaybePromise } from "../../../core/maybe_promise.ts";
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

/**
 * Gives units back some time after they were taken, as far as they are there.
 *
 * When a key would have been fresh again, nothing of them is left. To give them back all the same
 * would be to give what later calls have taken: those of the next window. Of several limits in one
 * each is treated by itself, as units of a second are gone long before those of a day.
 *
 * @param decision The decision by which they were taken.
 * @param passed Milliseconds since then.
 * @returns What the store answers.
 */
export function refundUnits(
  limiter: AnyLimiter,
  key: string,
  units: number,
  decision: Decision,
  passed: number,
): unknown {
  if (passed >= decision.resetAfter) return undefined;
  const internals = internalsOf(limiter);
  const algorithm = withoutExpiredParts(limiter.algorithm, decision, passed);
  if (algorithm === limiter.algorithm || internals === undefined) {
    return limiter.refund(key, units);
  }
  return internals.run(key, algorithm, -units);
}

/** The same algorithm, but parts that would be fresh by now give nothing back. */
function withoutExpiredParts(algorithm: Algorithm, decision: Decision, passed: number): Algorithm {
  if (passed >= decision.resetAfter) return withoutRefunds(algorithm);
  const parts = algorithm.internals?.parts;
  if (parts === undefined || decision.parts?.length !== parts.length) return algorithm;
  const kept = parts.map((part, place) =>
    withoutExpiredParts(part, decision.parts![place]!, passed)
  );
  return kept.every((part, place) => part === parts[place]) ? algorithm : all(...kept);
}
