/*
 * The options that the algorithms share, and how they are read: limit, period, name and burst.
 */

import { checkInteger, checkOptions, type OptionNames, rangeError, typeError } from "./checks.ts";
import { type Period, readPeriod } from "./period.ts";
import { warnOfSeconds } from "./warn_of_seconds.ts";

/** The options that every algorithm takes. */
export interface RateOptions {
  /** Units admitted per `period` in the long run; an integer of at least 0. 0 refuses everything. */
  readonly limit: number;
  /** Whole milliseconds, at least 1, or text: `"500ms"`, `"10s"`, `"1m"`, `"1h"`, `"1d"`. */
  readonly period: Period;
  /** The policy's name in headers; by default it is made of the numbers: `"100-in-60s"`. */
  readonly name?: string | undefined;
}

/** The options of algorithms that drain continuously, and so need a size of their own. */
export interface BurstOptions extends RateOptions {
  /**
   * Units that a fresh key admits at one instant; a positive integer, at least limit / period in
   * units a millisecond. In its first period a key gets up to `burst + limit` units, so a burst of
   * `limit` doubles that period.
   */
  readonly burst: number;
}

/** The options, read. */
export interface Rate {
  readonly limit: number;
  readonly period: number;
  /**
   * The policy's name; by default it is made of the numbers. It is checked when an algorithm is
   * built.
   */
  readonly name: string | undefined;
}

/** The names of the options that every rate takes. */
export const RATE_NAMES: OptionNames<RateOptions> = { limit: true, period: true, name: true };

/**
 * Reads limit and period.
 *
 * @param more The names of the factory's other options.
 * @throws {TypeError} If an option is of the wrong type, or unknown.
 * @throws {RangeError} If an option is out of range.
 */
export function readRate<Options extends RateOptions>(
  factory: string,
  options: Options,
  more: OptionNames<Omit<Options, keyof RateOptions>>,
): Rate {
  const action = `create ${factory}`;
  checkOptions(action, options, { ...RATE_NAMES, ...more });
  checkInteger(action, "limit", options.limit, 0);
  const { limit, name } = options;
  const period = readPeriod(action, "period", options.period);
  warnOfSeconds(factory, options.period);
  return { limit, period, name };
}

/** Reads limit, period and burst; throws as `readRate` does. */
export function readBurst(factory: string, options: BurstOptions): Rate & { burst: number } {
  const rate = readRate(factory, options, { burst: true });
  const { burst } = options;
  const action = `create ${factory}`;
  if (burst === undefined) {
    const rule = "burst must be given (a burst of limit doubles what the first period admits)";
    throw typeError(action, rule, burst);
  }
  // A limit of 0 refuses everything, whatever the burst.
  checkInteger(action, "burst", burst, rate.limit === 0 ? 0 : 1);
  checkReachable(action, "burst", rate, burst);
  return { ...rate, burst };
}

/**
 * Requires room for the units that come due in one millisecond: a full key that has waited for a
 * millisecond admits no more than its capacity, so a higher limit could never be reached.
 *
 * @param option The options that make the capacity, as the documentation writes them.
 */
export function checkReachable(
  action: string,
  option: string,
  { limit, period }: Rate,
  capacity: number,
): void {
  const needed = Math.ceil(limit / period);
  if (capacity >= needed) return;
  const rule = `${option} must be at least ${needed} to reach ${limit} units in ${period} ms`;
  throw rangeError(action, rule, capacity);
}
