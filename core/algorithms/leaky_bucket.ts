/*
 * The leaky bucket as a meter: the arithmetic of `gcra`, for users who know it by this name.
 */

import type { Algorithm } from "../algorithm.ts";
import { burstAlgorithm } from "./arrival_time_algorithm.ts";
import type { BurstOptions } from "../options/rate_options.ts";

/**
 * The leaky bucket as a meter: calls fill it, it drains at `limit` per `period`, and a call that
 * would make it overflow is refused. It polices; `leakyQueue` shapes.
 *
 * It admits `cost` when level + cost <= burst. In any span d it admits at most burst + limit * d /
 * period units. The arithmetic is the same as `gcra`'s: its TAT is now plus the time that the
 * bucket takes to drain. The state is one number.
 *
 * Every call takes constant time. Source: J. Turner, "New Directions in Communications", IEEE
 * Communications Magazine 24.10 (1986).
 *
 * @param options `limit` and `burst`, the size of the bucket, in units; `period` in milliseconds or
 * as text.
 * @throws {TypeError} If an option is missing or of the wrong type.
 * @throws {RangeError} If an option is out of range; if limit is more than burst * period; or if
 * burst * period / gcd(limit, period) is 2^53 or more.
 *
 * @example
 * ```ts
 * import { leakyBucket } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const algorithm = leakyBucket({ limit: 1, period: "1s", burst: 3 });
 * const [filled, state] = algorithm.step(algorithm.initial, 0, 3);
 * assert.equal(filled.remaining, 0);
 *
 * const [later] = algorithm.step(state, 2_000, 1); // two units have drained
 * assert.equal(later.remaining, 1);
 * ```
 */
export function leakyBucket(options: BurstOptions): Algorithm {
  return burstAlgorithm("leakyBucket", options);
}
