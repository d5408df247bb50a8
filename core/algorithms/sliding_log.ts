/*
 * The sliding window log: exact to the millisecond over any span, at the cost of a state that grows
 * with the calls.
 */

import type { Algorithm } from "../algorithm.ts";
import { type RateOptions, readRate } from "../options/rate_options.ts";
import { timelineAlgorithm } from "./timeline_algorithm.ts";

/**
 * The sliding window log: up to `limit` units in any span of one period, to the millisecond.
 *
 * It admits `cost` when the units admitted in (now - period, now], plus `cost`, are at most
 * `limit`: the strictest of all algorithms. The price is a state that keeps every millisecond with
 * a call, at most min(limit, period in ms) of them. For large limits choose `slidingWindow`. A
 * clock that steps back decides and writes at the latest time that the state holds.
 *
 * Each call takes O(log m) for m milliseconds with calls; the reducer is the same as
 * `slidingWindow`'s with a precision of 1 ms.
 *
 * @param options `limit` in units, `period` in milliseconds or as text.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range.
 *
 * @example
 * ```ts
 * import { slidingLog } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const algorithm = slidingLog({ limit: 2, period: "1m" });
 * const [, one] = algorithm.step(algorithm.initial, 0, 1);
 * const [, two] = algorithm.step(one, 40_000, 1);
 * const [refused] = algorithm.step(two, 59_000, 1);
 * assert.equal(refused.retryAfter, 1_000); // when the first leaves
 * ```
 */
export function slidingLog(options: RateOptions): Algorithm {
  const rate = readRate("slidingLog", options, {});
  return timelineAlgorithm({ ...rate, id: ["slidingLog", rate.period], precision: 1 });
}
