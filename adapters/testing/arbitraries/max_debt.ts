/*
 * The bounds on debt that the documentation states: a billion units in use, or as many as whole
 * numbers below 2^53 hold; never fewer than the capacity.
 */

import type { RateRuleOptions } from "../models/rate_rules.ts";
import { smaller } from "../models/whole_numbers.ts";

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
export function rateDebt({ limit, period, burst }: RateRuleOptions): number {
  const divisor = greatestCommonDivisor(limit, period);
  const [perMillisecond, interval] = [BigInt(limit / divisor), BigInt(period / divisor)];
  const last = perMillisecond * LAST_INSTANT;
  const isWhole = last + BigInt(Math.max(burst, limit)) * interval <= BigInt(EXACT);
  const exact = smaller(BigInt(EXACT) - (isWhole ? last : 0n), FURTHEST * perMillisecond);
  return maxDebt(burst, Number(exact / interval));
}

/** For interval refill: in tokens. */
export function refillDebt({ limit, period, burst }: RateRuleOptions): number {
  const step = BigInt(period);
  const refills = (LAST_INSTANT + step - 1n) / step;
  const exact = smaller(BigInt(EXACT) - refills * BigInt(limit), FURTHEST / step * BigInt(limit));
  return maxDebt(burst, Number(exact));
}

/** The greatest common divisor of two positive integers. */
export function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
