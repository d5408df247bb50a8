/*
 * `consumeUpTo`: a function on a limiter for callers that can do with less than they ask for.
 */

import { andThen, type MaybePromise } from "../maybe_promise.ts";
import { checkInteger, checkText } from "../options/checks.ts";
import { type Taken, takeUpTo } from "../verbs/take_up_to.ts";
import { failOn } from "./fail_on.ts";
import { type LimiterInternals, requireLimiter } from "./limiter_internals.ts";
import type { AsyncLimiter, Limiter } from "./limiter_types.ts";

/**
 * Takes as many units as are free at that instant, up to `most`: for a job that sends the mails that it
 * may send now, and the others later.
 *
 * @param limiter The limiter that decides; its units must not be permits.
 * @param key The key whose units are taken: a non-empty string.
 * @param most The most units to take, an integer of at least 0.
 * @returns The units that were taken, and the decision of a `consume` of them. If no unit was free,
 * `taken` is 0, and the decision is the refusal of one unit. With a store that answers by promises, a
 * promise of both. A failure policy that allows the call lets it have all of `most`.
 * @throws {TypeError} If the key is not a non-empty string, `most` is not a number, or the units are
 * permits.
 * @throws {RangeError} If `most` is not an integer of at least 0.
 *
 * @example
 * ```ts
 * import { consumeUpTo, gcra, limiter } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const mails = limiter(gcra({ limit: 100, period: "1h", burst: 100 }), { clock: () => 0 });
 * assert.equal(consumeUpTo(mails, "newsletter", 80).taken, 80);
 * assert.equal(consumeUpTo(mails, "newsletter", 80).taken, 20);
 * const { taken, decision } = consumeUpTo(mails, "newsletter", 80);
 * assert.deepEqual([taken, decision.allowed, decision.retryAfter], [0, false, 36_000]);
 * ```
 */
export function consumeUpTo(limiter: Limiter, key: string, most: number): Taken;
/** The same on a store that answers by promises. */
export function consumeUpTo(limiter: AsyncLimiter, key: string, most: number): Promise<Taken>;
/** The same on a store of either kind. */
export function consumeUpTo(
  limiter: Limiter | AsyncLimiter,
  key: string,
  most: number,
): Taken | Promise<Taken>;
export function consumeUpTo(
  limiter: Limiter | AsyncLimiter,
  key: string,
  most: number,
): MaybePromise<Taken> {
  const internals = requireLimiter("consumeUpTo", limiter);
  try {
    checkText("consumeUpTo", "key", key);
    checkInteger("consumeUpTo", "most", most, 0);
    return andThen(
      internals.call(takeUpTo, key, most),
      (answer) => reported(internals, answer, key, most),
    );
  } catch (error) {
    return failOn(internals.store, error);
  }
}

function reported(
  limiter: LimiterInternals,
  { decision, taken }: Taken,
  key: string,
  most: number,
): Taken {
  const { allowed, source } = decision;
  // A policy that allows a call does not know what is left.
  const units = allowed && source === "policy" ? most : taken;
  limiter.report(decision, key, allowed ? units : 1);
  return { decision, taken: units };
}

export type { Taken };
