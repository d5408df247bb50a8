/*
 * The leaky bucket as a queue: the only algorithm that makes admitted calls wait for their start,
 * for traffic that must leave at an even rate.
 */

import type { Algorithm } from "../algorithm.ts";
import { checkInteger } from "../options/checks.ts";
import { LIMIT, NAME, type OptionsData, PERIOD } from "../options/options_data.ts";
import { arrivalTimeAlgorithm } from "./arrival_time_algorithm.ts";
import { checkReachable, type RateOptions, readRate } from "../options/rate_options.ts";

/** The options of `leakyQueue`. */
export interface LeakyQueueOptions extends RateOptions {
  /** How many calls may wait; an integer of at least 0. */
  readonly queue: number;
  /** Units that start at once before others wait; a positive integer; default 1. */
  readonly burst?: number | undefined;
}

/** The options of `leakyQueue` as data. */
export const LEAKY_QUEUE_OPTIONS: OptionsData<LeakyQueueOptions> = {
  limit: LIMIT,
  period: PERIOD,
  name: NAME,
  queue: { kind: "integer", least: 0, about: "How many calls may wait." },
  burst: {
    kind: "integer",
    least: 1,
    default: 1,
    about: "Units that start at once before others wait.",
  },
};

/**
 * The leaky bucket as a queue: calls start one emission interval (period / limit) apart, first
 * come, first served, and a call that finds `queue` others waiting is refused. It shapes;
 * `leakyBucket` polices. With a `burst`, so many units of an idle key start at once, and only later
 * units wait. nginx writes that as `burst=20 delay=8`, which is a `burst` of 9 (nginx does not
 * count the first call) and a `queue` of 12.
 *
 * `decision.delay` says how long an admitted call waits for its start, rounded up to whole
 * milliseconds; `limiter.acquire` waits it out. A cost of c takes c places and starts at the first
 * of them. The state is one number, when the next call would start, and the arithmetic is the same
 * as `gcra`'s with a burst of queue + burst.
 *
 * Every call takes constant time. Source: A. Tanenbaum, "Computer Networks", on traffic
 * shaping.
 *
 * @param options `limit` in units, `period` in milliseconds or as text, `queue` in places, `burst` in units.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range; if limit is more than
 * (queue + burst) * period; or if (queue + burst) * period / gcd(limit, period) is 2^53 or more.
 *
 * @example
 * ```ts
 * import { leakyQueue } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const algorithm = leakyQueue({ limit: 10, period: "1s", queue: 1 });
 * const [first, one] = algorithm.step(algorithm.initial, 0, 1);
 * const [second, two] = algorithm.step(one, 0, 1);
 * const [third] = algorithm.step(two, 0, 1);
 *
 * assert.deepEqual([first.delay, second.delay], [0, 100]);
 * assert.equal(third.allowed, false); // one is waiting already
 * ```
 */
export function leakyQueue(options: LeakyQueueOptions): Algorithm {
  const rate = readRate("leakyQueue", options, { queue: true, burst: true });
  const { queue, burst = 1 } = options;
  checkInteger("create leakyQueue", "queue", queue, 0);
  checkInteger("create leakyQueue", "burst", burst, 1);
  checkReachable("create leakyQueue", "queue + burst", rate, queue + burst);
  return arrivalTimeAlgorithm({
    ...rate,
    factory: "leakyQueue",
    capacity: queue + burst,
    queue,
  });
}
