/*
 * A limit as rule files and command lines write it, and the algorithm made of it: the name of a
 * factory and its options.
 */

import type { Algorithm } from "../algorithm.ts";
import { typeError } from "../options/checks.ts";
import { calendarWindow } from "../algorithms/calendar_window.ts";
import type { CalendarUnit } from "../arithmetic/calendar.ts";
import { fixedWindow } from "../algorithms/fixed_window.ts";
import { gcra } from "../algorithms/gcra.ts";
import { leakyBucket } from "../algorithms/leaky_bucket.ts";
import { leakyQueue } from "../algorithms/leaky_queue.ts";
import type { Period } from "../options/period.ts";
import { lockout } from "../algorithms/lockout.ts";
import { slidingCounter } from "../algorithms/sliding_counter.ts";
import { slidingLog } from "../algorithms/sliding_log.ts";
import { slidingWindow } from "../algorithms/sliding_window.ts";
import { tokenBucket } from "../algorithms/token_bucket.ts";

/** The names of the algorithms that a rule can choose: those of their factories. */
export type AlgorithmName =
  | "gcra"
  | "fixedWindow"
  | "calendarWindow"
  | "slidingLog"
  | "slidingCounter"
  | "slidingWindow"
  | "tokenBucket"
  | "leakyBucket"
  | "leakyQueue"
  | "lockout";

/** A limit as it is written: an algorithm by name, and the options of its factory. */
export interface LimitOptions {
  /** Which algorithm decides; default `"gcra"`. */
  readonly algorithm?: AlgorithmName | undefined;
  /** Units admitted per period in the long run; an integer of at least 0, which refuses everything. */
  readonly limit: number;
  /** Whole milliseconds, or text such as `"10s"`; every algorithm but `calendarWindow` needs it. */
  readonly period?: Period | undefined;
  /** What answers call the limit; by default it is made of the numbers. */
  readonly name?: string | undefined;
  /** Of `gcra`, the buckets and `leakyQueue`: units that a fresh key starts at once. */
  readonly burst?: number | undefined;
  /** Of `slidingWindow`: the length of a sub-bucket. */
  readonly precision?: Period | undefined;
  /** Of `lockout`: for how long the key is locked, or several durations for locks that grow. */
  readonly lock?: Period | readonly Period[] | undefined;
  /** Of `lockout` with locks that grow: for how long after its end a lock counts. */
  readonly forget?: Period | undefined;
  /** Of `leakyQueue`: how many calls may wait. */
  readonly queue?: number | undefined;
  /** Of `tokenBucket`: how it is refilled. */
  readonly refill?: "greedy" | "interval" | undefined;
  /** Of `fixedWindow`: where windows lie. */
  readonly anchor?: "epoch" | "first" | number | undefined;
  /** Of `calendarWindow`: how long windows are. */
  readonly every?: CalendarUnit | undefined;
  /** Of `calendarWindow`: the IANA name of a time zone. */
  readonly zone?: string | undefined;
  /** Of `calendarWindow` by weeks: the day that they begin with, 1 (Monday) to 7. */
  readonly weekStart?: number | undefined;
}

const FACTORIES: Readonly<Record<AlgorithmName, (options: never) => Algorithm>> = {
  gcra,
  fixedWindow,
  calendarWindow,
  slidingLog,
  slidingCounter,
  slidingWindow,
  tokenBucket,
  leakyBucket,
  leakyQueue,
  lockout,
};

/** The names of the algorithms, in the order of the documentation. */
export const ALGORITHM_NAMES: readonly AlgorithmName[] = Object.freeze(
  Object.keys(FACTORIES) as AlgorithmName[],
);

/**
 * Makes the algorithm of a limit.
 *
 * @throws {TypeError} If the algorithm is unknown, or an option is of the wrong type.
 * @throws {RangeError} If an option is out of range.
 */
export function algorithmOf(options: LimitOptions): Algorithm {
  const { algorithm = "gcra", ...rest } = options;
  if (!Object.hasOwn(FACTORIES, algorithm)) {
    const rule = `algorithm must be one of ${ALGORITHM_NAMES.join(", ")}`;
    throw typeError("create a limit", rule, algorithm);
  }
  return FACTORIES[algorithm](rest as never);
}
