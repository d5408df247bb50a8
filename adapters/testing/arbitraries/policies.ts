/*
 * Draws valid options for each algorithm. They crowd the edges where float arithmetic goes wrong:
 * awkward fractions, huge limits, and bursts up to the largest that is still exact.
 */

import fc from "fast-check";
import { LAST_INSTANT } from "../../../core/options/checks.ts";
import { type CalendarWindowRuleOptions, zoneChanges } from "../models/calendar_rule.ts";
import type {
  GrowingLockoutRuleOptions,
  LockoutRuleOptions,
  SlidingLogRuleOptions,
  SlidingWindowRuleOptions,
} from "../models/log_rules.ts";
import type { LeakyQueueRuleOptions, RateRuleOptions } from "../models/rate_rules.ts";
import type { FixedWindowRuleOptions } from "../models/window_rules.ts";
import { EXACT, greatestCommonDivisor } from "./max_debt.ts";

/** The longest duration that can be added to every instant. */
const FURTHEST = EXACT - LAST_INSTANT;
const YEAR = 31_536_000_000;
const MAX_BUCKETS = 65_536;

/**
 * Limits: small ones first, because those shrink to schedules that a person can follow; then
 * awkward ones.
 */
function limits(): fc.Arbitrary<number> {
  return fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 1, max: 12 }) },
    { weight: 2, arbitrary: fc.constantFrom(1, 14, 60, 997, 65_535, 65_536, 1_000_000_000) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 1_000_000_000 }) },
  );
}

/** Periods in whole milliseconds, up to a year. */
function periods(): fc.Arbitrary<number> {
  return fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 1, max: 40 }) },
    { weight: 2, arbitrary: fc.constantFrom(1, 7, 1_000, 60_000, 884_090, 86_399_999, YEAR) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: YEAR }) },
  );
}

/** Bursts, without regard to the limit; `undefined` for a burst of the limit. */
function bursts(): fc.Arbitrary<number | undefined> {
  return fc.oneof(
    { weight: 2, arbitrary: fc.constant(undefined) },
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 12 }) },
    { weight: 1, arbitrary: fc.constantFrom(1, 40, 1_000) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 1_000_000_000 }) },
  );
}

/**
 * Options of `gcra`, `leakyBucket` and greedy `tokenBucket`, within the exact bounds: awkward
 * fractions, limits to a billion, periods to a year, a burst of 1, and bursts far above the limit.
 *
 * @example
 * ```ts
 * import { gcra } from "tidegate";
 * import { rateOptions } from "tidegate/testing";
 * import fc from "fast-check";
 *
 * fc.assert(fc.property(rateOptions(), (options) => gcra(options).capacity >= 1));
 * ```
 */
export function rateOptions(): fc.Arbitrary<RateRuleOptions> {
  const awkward = fc.constant({ limit: 14, period: 884_090, burst: 40 });
  const drawn = fc.record({ limit: limits(), period: periods(), burst: bursts() });
  return fc.oneof({ weight: 15, arbitrary: drawn }, { weight: 1, arbitrary: awkward })
    .map(({ limit, period, burst }) => {
      const divisor = greatestCommonDivisor(limit, period);
      const exact = Math.min(EXACT, Math.floor(FURTHEST * limit / divisor));
      const most = Math.floor(exact / (period / divisor));
      const least = Math.ceil(limit / period);
      return { limit, period, burst: Math.max(least, Math.min(most, burst ?? limit)) };
    });
}

/**
 * Options of `tokenBucket` with interval refill, within the exact bounds.
 *
 * @example
 * ```ts
 * import { tokenBucket } from "tidegate";
 * import { refillOptions } from "tidegate/testing";
 * import fc from "fast-check";
 *
 * fc.assert(fc.property(refillOptions(), (options) => {
 *   return tokenBucket({ ...options, refill: "interval" }).capacity >= 1;
 * }));
 * ```
 */
export function refillOptions(): fc.Arbitrary<RateRuleOptions> {
  return fc.record({ limit: limits(), period: periods(), burst: bursts() }).map(
    ({ limit, period, burst }) => {
      const refills = Math.ceil(LAST_INSTANT / period);
      const most = Math.floor((EXACT - (burst ?? 0)) / (refills + 1));
      const exact = Math.min(limit, most);
      const furthest = Math.floor(FURTHEST / period) * exact;
      const least = Math.ceil(exact / period);
      return { limit: exact, period, burst: Math.max(least, Math.min(burst ?? exact, furthest)) };
    },
  );
}

/**
 * Options of `leakyQueue`, within the exact bounds; some with a queue of 0, some with a burst.
 *
 * @example
 * ```ts
 * import { leakyQueue } from "tidegate";
 * import { queueOptions } from "tidegate/testing";
 * import fc from "fast-check";
 *
 * fc.assert(fc.property(queueOptions(), (options) => {
 *   return leakyQueue(options).capacity === options.queue + (options.burst ?? 1);
 * }));
 * ```
 */
export function queueOptions(): fc.Arbitrary<LeakyQueueRuleOptions> {
  const parts = fc.oneof(fc.constant(undefined), fc.double({ min: 0, max: 1, noNaN: true }));
  return fc.tuple(rateOptions(), parts).map(
    ([{ limit, period, burst: capacity }, part]) => {
      const burst = part === undefined ? undefined : 1 + Math.floor(part * (capacity - 1));
      return { limit, period, queue: capacity - (burst ?? 1), burst };
    },
  );
}

/**
 * Options of `fixedWindow`: every anchor, shifts below zero and beyond a period among them.
 *
 * @example
 * ```ts
 * import { fixedWindow } from "tidegate";
 * import { windowOptions } from "tidegate/testing";
 * import fc from "fast-check";
 *
 * fc.assert(fc.property(windowOptions(), (options) => {
 *   return fixedWindow(options).capacity === options.limit;
 * }));
 * ```
 */
export function windowOptions(): fc.Arbitrary<FixedWindowRuleOptions> {
  const anchor = fc.oneof(
    fc.constantFrom(undefined, "epoch" as const, "first" as const),
    fc.integer({ min: -50, max: 50 }),
    fc.integer({ min: -2 * YEAR, max: 2 * YEAR }),
  );
  return fc.record({ limit: limits(), period: periods(), anchor });
}

/**
 * Options of `calendarWindow`, in zones whose clocks follow a simple rule.
 *
 * @example
 * ```ts
 * import { calendarWindow } from "tidegate";
 * import { calendarOptions } from "tidegate/testing";
 * import fc from "fast-check";
 *
 * fc.assert(fc.property(calendarOptions(), (options) => {
 *   return calendarWindow(options).capacity === options.limit;
 * }));
 * ```
 */
export function calendarOptions(): fc.Arbitrary<CalendarWindowRuleOptions> {
  return fc.record({
    limit: limits(),
    every: fc.constantFrom("hour" as const, "day" as const, "week" as const, "month", "year"),
    zone: fc.constantFrom(...Object.keys(zoneChanges)),
    weekStart: fc.integer({ min: 1, max: 7 }),
  }).map(({ weekStart, ...drawn }) => drawn.every === "week" ? { ...drawn, weekStart } : drawn);
}

/**
 * Options of `slidingLog`.
 *
 * @example
 * ```ts
 * import { slidingLog } from "tidegate";
 * import { logOptions } from "tidegate/testing";
 * import fc from "fast-check";
 *
 * fc.assert(fc.property(logOptions(), (options) => {
 *   return slidingLog(options).capacity === options.limit;
 * }));
 * ```
 */
export function logOptions(): fc.Arbitrary<SlidingLogRuleOptions> {
  return fc.record({ limit: limits(), period: periods() });
}

/**
 * Options of `lockout`: locks shorter than the period, as long, and longer.
 *
 * @example
 * ```ts
 * import { lockout } from "tidegate";
 * import { lockoutOptions } from "tidegate/testing";
 * import fc from "fast-check";
 *
 * fc.assert(fc.property(lockoutOptions(), (options) => {
 *   return lockout(options).capacity === options.limit;
 * }));
 * ```
 */
export function lockoutOptions(): fc.Arbitrary<LockoutRuleOptions> {
  return fc.record({ limit: limits(), period: periods(), lock: periods() });
}

/**
 * Options of a `lockout` whose locks grow.
 *
 * @example
 * ```ts
 * import { lockout } from "tidegate";
 * import { growingLockoutOptions } from "tidegate/testing";
 * import fc from "fast-check";
 *
 * fc.assert(fc.property(growingLockoutOptions(), (options) => {
 *   return lockout(options).capacity === options.limit;
 * }));
 * ```
 */
export function growingLockoutOptions(): fc.Arbitrary<GrowingLockoutRuleOptions> {
  const lock = fc.array(periods(), { minLength: 1, maxLength: 4 });
  return fc.record({ limit: limits(), period: periods(), lock, forget: periods() })
    .map((drawn) => ({ ...drawn, lock: [...drawn.lock].sort((one, other) => one - other) }));
}

/**
 * Options of `slidingCounter`, within the exact bounds.
 *
 * @example
 * ```ts
 * import { slidingCounter } from "tidegate";
 * import { counterOptions } from "tidegate/testing";
 * import fc from "fast-check";
 *
 * fc.assert(fc.property(counterOptions(), (options) => {
 *   return slidingCounter(options).capacity === options.limit;
 * }));
 * ```
 */
export function counterOptions(): fc.Arbitrary<SlidingLogRuleOptions> {
  return logOptions().map(({ limit, period }) => ({
    limit: Math.min(limit, Math.floor(EXACT / (2 * period))),
    period,
  }));
}

/**
 * Options of `slidingWindow`: a precision that divides the period into 1 to 65,536 sub-buckets.
 *
 * @example
 * ```ts
 * import { slidingWindow } from "tidegate";
 * import { precisionOptions } from "tidegate/testing";
 * import fc from "fast-check";
 *
 * fc.assert(fc.property(precisionOptions(), (options) => {
 *   return slidingWindow(options).capacity === options.limit;
 * }));
 * ```
 */
export function precisionOptions(): fc.Arbitrary<SlidingWindowRuleOptions> {
  const buckets = fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 1, max: 12 }) },
    { weight: 2, arbitrary: fc.constantFrom(1, 60, 64, 65, 3_600, MAX_BUCKETS) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: MAX_BUCKETS }) },
  );
  const precision = fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 1, max: 12 }) },
    { weight: 1, arbitrary: fc.constantFrom(1, 1_000, 60_000) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: Math.floor(YEAR / MAX_BUCKETS) }) },
  );
  return fc.record({ limit: limits(), buckets, precision }).map((drawn) => ({
    limit: drawn.limit,
    period: drawn.buckets * drawn.precision,
    precision: drawn.precision,
  }));
}
