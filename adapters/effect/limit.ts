/*
 * A limit as a value of its own: modules define and export their limits before there is a store,
 * and tests run them on another one.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { checkOptions, checkText } from "../../core/options/checks.ts";
import { checkLimiter } from "../../core/limiter/check_limiter.ts";
import type { LimiterOptions } from "../../core/limiter/limiter_types.ts";

/** The options of `limit`. */
export type LimitOptions = Pick<LimiterOptions, "replaces" | "maxWaiting">;

/**
 * A limit as plain data: an algorithm, and the prefix of its keys. The `RateLimiter` layer decides
 * where the counters live.
 */
export interface Limit extends LimitOptions {
  /** The prefix of the limit's keys in the store; also its name in metrics and spans. */
  readonly prefix: string;
  /** The algorithm that decides. */
  readonly algorithm: Algorithm;
}

/**
 * Makes a limit: a value to be made once and used in many places. Two limits of one prefix and one
 * algorithm share their counters.
 *
 * @param prefix The beginning of its keys in the store; a non-empty string.
 * @param algorithm The algorithm that decides, such as `gcra(...)`, `all(...)` or `algorithmOf(...)`.
 * @param options `replaces`, the older options that the limit replaces, so that a changed limit
 * forgets nothing; `maxWaiting`, the most fibers that may wait, default 10,000.
 * @throws {TypeError} If the prefix is empty, or an argument is of the wrong type.
 * @throws {RangeError} If an option is out of range.
 *
 * @example
 * ```ts
 * import { gcra } from "tidegate";
 * import { limit } from "tidegate/effect";
 * import assert from "node:assert/strict";
 *
 * const api = limit("api", gcra({ limit: 100, period: "1m", burst: 20 }));
 * assert.equal(api.algorithm.capacity, 20);
 * ```
 */
export function limit(prefix: string, algorithm: Algorithm, options: LimitOptions = {}): Limit {
  checkText("create limit", "prefix", prefix);
  checkOptions<LimitOptions>("create limit", options, { replaces: true, maxWaiting: true });
  checkLimiter(algorithm, options);
  const { replaces, maxWaiting } = options;
  return Object.freeze({ prefix, algorithm, replaces, maxWaiting });
}
