/*
 * Periods from a configuration, for callers: `readPeriod` is for options, whose names it knows.
 */

import { type Period, readPeriod } from "./period.ts";

/**
 * Reads a period from a configuration, such as an environment variable, in which any text may stand.
 *
 * @param text Text such as `"500ms"`, `"10s"`, `"1m"`, `"1h"`, `"1d"`, or whole milliseconds as a number.
 * @returns Whole milliseconds, 1 to 2^42: a `Period` for the options of an algorithm.
 * @throws {TypeError} If it is neither text nor a number.
 * @throws {RangeError} If it is not a whole number of milliseconds in that range, or has no known
 *   unit.
 *
 * @example
 * ```ts
 * import { gcra, parsePeriod } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const configuration: Record<string, string> = { LIMIT: "100", PERIOD: "1m" };
 * const period = parsePeriod(configuration.PERIOD ?? "10s");
 * assert.equal(gcra({ limit: Number(configuration.LIMIT), period, burst: Number(configuration.LIMIT) }).id, "gcra/100/60000");
 * ```
 */
export function parsePeriod(text: string | number): number {
  return readPeriod("parse a period", "it", text as Period);
}
