/*
 * The options that the algorithms share, and how they are read: limit, period, name and burst.
 */

import { checkInteger, checkOptions, type OptionNames } from "./checks.ts";
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

/** The options of algorithms that let a fresh key take more, or less, than `limit` at once. */
export interface BurstOptions extends RateOptions {
  /** Units that a fresh key admits at one instant; a positive integer; default `limit`. */
  readonly burst?: number | undefined;
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

/** The options that every algorithm takes. */
export const RATE_OPTIONS: OptionNames<RateOptions> = { limit: true, period: true, name: true };

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
  checkOptions(action, options, { ...RATE_OPTIONS, ...more });
  checkInteger(action, "limit", options.limit, 0);
  const { limit, name } = options;
  warnOfSeconds(factory, options.period);
  return { limit, period: readPeriod(action, "period", options.period), name };
}

/** Reads limit, period and burst; throws as `readRate` does. */
export function readBurst(factory: string, options: BurstOptions): Rate & { burst: number } {
  const rate = readRate(factory, options, { burst: true });
  const burst = options.burst ?? rate.limit;
  if (options.burst !== undefined) checkInteger(`create ${factory}`, "burst", burst, 1);
  return { ...rate, burst };
}
