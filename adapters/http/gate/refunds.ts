/*
 * Gives the units of a request back when it has ended. A refund must neither take units from later
 * calls nor become a way around the limit.
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import { all } from "../../../core/algorithms/all.ts";
import type { Decision } from "../../../core/decision.ts";
import { guarded } from "../../../core/guarded.ts";
import { internalsOf } from "../../../core/limiter/limiter.ts";
import { refundingNewest, withoutRefunds } from "../../../core/limiter/wrapped_algorithm.ts";
import { andThen, type MaybePromise } from "../../../core/maybe_promise.ts";
import type { AnyLimiter, Outcome, RateLimitOptions } from "./rate_limit_options.ts";

/** The status of a request whose client went away before there was a response; nginx's. */
export const GONE_STATUS = 499;

type Refund = RateLimitOptions<unknown, unknown>["refund"];

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
  // What could not be given back stays charged: the safe side.
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
  const { algorithm } = limiter;
  const internals = internalsOf(limiter);
  const time = () => internals?.now() ?? performance.now();
  const takenAt = time();

  return function giveBack() {
    const passed = time() - takenAt;
    if (freshAt === undefined && passed >= decision.resetAfter) return undefined;
    const refunding = freshAt === undefined
      ? withoutExpiredParts(algorithm, decision, passed)
      : refundingNewest(algorithm, freshAt);
    return refunding === algorithm || internals === undefined
      ? limiter.refund(key, units)
      : internals.run(key, refunding, -units);
  };
}

/** The same algorithm, except that parts which would be fresh by now give nothing back. */
function withoutExpiredParts(algorithm: Algorithm, decision: Decision, passed: number): Algorithm {
  if (passed >= decision.resetAfter) return withoutRefunds(algorithm);
  const parts = algorithm.internals?.parts;
  if (parts === undefined || decision.parts?.length !== parts.length) return algorithm;
  const kept = parts.map((part, index) =>
    withoutExpiredParts(part, decision.parts![index]!, passed)
  );
  return kept.every((part, index) => part === parts[index]) ? algorithm : all(...kept);
}
