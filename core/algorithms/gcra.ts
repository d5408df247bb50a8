/*
 * The generic cell rate algorithm: the recommended default, one number per key.
 */

import type { Algorithm } from "../algorithm.ts";
import { burstAlgorithm } from "./arrival_time_algorithm.ts";
import type { BurstOptions } from "../options/rate_options.ts";

/**
 * The generic cell rate algorithm: calls may come one emission interval (period / limit) apart,
 * and up to `burst` of them ahead of that.
 *
 * It admits `cost` when max(TAT, now) + cost * T - now <= burst * T, with the theoretical arrival
 * time TAT and the emission interval T, and then moves the TAT on by cost * T. In any span d it
 * admits at most burst + limit * d / period units. The state is one number. Start with this
 * algorithm: it has no window edge at which twice the limit passes, and spreads calls by itself.
 *
 * The same arithmetic as `leakyBucket` and `tokenBucket`.
 *
 * Every call takes constant time. Source: ITU-T I.371, annex A.
 *
 * @param options `limit` and `burst` in units, `period` in milliseconds or as text.
 * @throws {TypeError} If an option is missing or of the wrong type.
 * @throws {RangeError} If an option is out of range; if limit is more than burst * period, because
 * it could never be reached; or if burst * period / gcd(limit, period) is 2^53 or more, because
 * decisions would not be exact.
 *
 * @example
 * ```ts
 * import { gcra } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const algorithm = gcra({ limit: 10, period: "1s", burst: 2 });
 * const [first, one] = algorithm.step(algorithm.initial, 0, 1);
 * const [second, two] = algorithm.step(one, 0, 1);
 * const [third, three] = algorithm.step(two, 0, 1);
 *
 * assert.deepEqual([first.allowed, second.allowed, third.allowed], [true, true, false]);
 * assert.equal(third.retryAfter, 100); // one emission interval
 * assert.equal(three, two); // a refusal changes nothing
 * ```
 */
export function gcra(options: BurstOptions): Algorithm {
  return burstAlgorithm("gcra", options);
}
