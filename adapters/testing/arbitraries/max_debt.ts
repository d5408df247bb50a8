/*
 * The bounds on debt that the documentation states: a billion units in use, or as many as whole
 * numbers below 2^53 hold; never fewer than the capacity.
 */

import type { CalendarWindowRuleOptions } from "../models/calendar_rule.ts";
import type { RateRuleOptions } from "../models/rate_rules.ts";
import { smaller } from "../models/whole_numbers.ts";
import type { FixedWindowRuleOptions } from "../models/window_rules.ts";

/** The largest whole number below which all are exact in a float. */
export const EXACT: number = Number.MAX_SAFE_INTEGER;
const LAST_INSTANT = 2n ** 42n;
/** Milliseconds by which an arrival time may lie ahead. */
const FURTHEST = 2n ** 52n;

/** The most units beyond a capacity, where `exact` of them are exact. */
export function maxDebt(capacity: number, exact: number = Infinity): number {
  return Math.max(0, Math.floor(Math.min(1_000_000_000, exact)) - capacity);
}

/** For `gcra` and its kin: in ticks of the emission interval, on the scale that the burst needs. */
export function rateDebt({ limit, period, burst = limit }: RateRuleOptions): number {
  const divisor = greatestCommonDivisor(limit, period);
  const [perMillisecond, interval] = [BigInt(limit / divisor), BigInt(period / divisor)];
  const last = perMillisecond * LAST_INSTANT;
  const isWhole = last + BigInt(burst) * interval <= BigInt(EXACT);
  const exact = smaller(BigInt(EXACT) - (isWhole ? last : 0n), FURTHEST * perMillisecond);
  return maxDebt(burst, Number(exact / interval));
}

/** For interval refill: in tokens. */
export function refillDebt({ limit, period, burst = limit }: RateRuleOptions): number {
  const step = BigInt(period);
  const refills = (LAST_INSTANT + step - 1n) / step;
  const exact = smaller(BigInt(EXACT) - refills * BigInt(limit), FURTHEST / step * BigInt(limit));
  return maxDebt(burst, Number(exact));
}

/**
 * For a fixed window: the most that one number holds beside the window, if that is at least 16
 * limits; else the most that two numbers hold.
 */
export function windowDebt({ limit, period, anchor }: FixedWindowRuleOptions): number {
  const shift = typeof anchor === "number" ? anchor : 0;
  const offset = (period - ((shift % period) + period) % period) % period;
  const windows = anchor === "first"
    ? LAST_INSTANT + 1n
    : (LAST_INSTANT + BigInt(offset)) / BigInt(period) + 1n;
  const exact = Number(BigInt(EXACT) / windows);
  return maxDebt(limit, exact >= 16 * limit ? exact : Infinity);
}

/**
 * For a calendar's window: the most that one number holds beside the second at which the window
 * ends.
 */
export function calendarDebt({ limit }: CalendarWindowRuleOptions): number {
  const seconds = (LAST_INSTANT + 400n * 86_400_000n) / 1_000n;
  const exact = Number(BigInt(EXACT) / (seconds + 1n));
  return maxDebt(limit, exact >= 16 * limit ? exact : Infinity);
}

/** The greatest common divisor of two positive integers. */
export function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
