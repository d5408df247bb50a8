/*
 * The sliding window of sub-buckets: between a fixed window and a log, with a state whose size the
 * caller chooses by `precision`.
 */

import type { Algorithm } from "../algorithm.ts";
import { rangeError } from "../options/checks.ts";
import { LIMIT, NAME, type OptionsData, PERIOD } from "../options/options_data.ts";
import { type Period, readPeriod } from "../options/period.ts";
import { type RateOptions, readRate } from "../options/rate_options.ts";
import { timelineAlgorithm } from "./timeline_algorithm.ts";

/** The options of `slidingWindow`. */
export interface SlidingWindowOptions extends RateOptions {
  /** The length of a sub-bucket. It divides the period into at most 65,536 sub-buckets. */
  readonly precision: Period;
}

/** The options of `slidingWindow` as data. */
export const SLIDING_WINDOW_OPTIONS: OptionsData<SlidingWindowOptions> = {
  limit: LIMIT,
  period: PERIOD,
  name: NAME,
  precision: { kind: "period", about: "The length of a sub-bucket, which divides the period." },
};

/** The most sub-buckets that a sliding window may have. */
const MAX_BUCKETS = 65_536;

/**
 * The sliding window made of sub-buckets: up to `limit` units in the last period / precision
 * sub-buckets, the current one included.
 *
 * Sub-buckets lie at multiples of `precision` since the Unix epoch. It admits at most `limit` units
 * in any span of period - precision, and at most 2 * limit in any span of a period. With a
 * precision of the whole period it is a fixed window; a precision of 1/60 of the period (an hour as
 * 60 minutes) is the usual choice. A state keeps the sub-buckets that are not empty, at most
 * min(period / precision, limit).
 *
 * Each call takes O(log m) for m sub-buckets that are not empty. Source: "An alternative
 * approach to rate limiting", Figma (2017); J. Carlson, "Rate limiting with Redis, part 2".
 *
 * @param options `limit` in units; `period` and `precision` in milliseconds or as text.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range, or `precision` does not divide `period` into
 * at most 65,536 sub-buckets.
 *
 * @example
 * ```ts
 * import { slidingWindow } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const algorithm = slidingWindow({ limit: 100, period: "1h", precision: "1m" });
 * const [, state] = algorithm.step(algorithm.initial, 30_000, 100);
 * const [decision] = algorithm.step(state, 3_599_999, 1);
 * assert.equal(decision.allowed, false);
 * assert.equal(decision.retryAfter, 1); // the minute they came in leaves as a whole
 * ```
 */
export function slidingWindow(options: SlidingWindowOptions): Algorithm {
  const action = "create slidingWindow";
  const rate = readRate("slidingWindow", options, { precision: true });
  const { period } = rate;
  const precision = readPeriod(action, "precision", options.precision);
  const span = period / precision;
  if (!Number.isInteger(span) || span > MAX_BUCKETS) {
    const rule =
      `precision must divide the period of ${period} ms into at most ${MAX_BUCKETS} sub-buckets`;
    throw rangeError(action, rule, options.precision);
  }
  return timelineAlgorithm({ ...rate, id: ["slidingWindow", period, precision], precision });
}
