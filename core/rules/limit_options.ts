/*
 * A limit as rule files and command lines write it, and the algorithm made of it: the name of a
 * factory and its options.
 */

import type { Algorithm } from "../algorithm.ts";
import { typeError } from "../options/checks.ts";
import { blockable } from "../algorithms/blockable.ts";
import { calendarWindow } from "../algorithms/calendar_window.ts";
import { concurrency } from "../algorithms/concurrency.ts";
import type { CalendarUnit } from "../arithmetic/calendar.ts";
import { fixedWindow } from "../algorithms/fixed_window.ts";
import { gcra } from "../algorithms/gcra.ts";
import { leakyBucket } from "../algorithms/leaky_bucket.ts";
import { leakyQueue } from "../algorithms/leaky_queue.ts";
import type { Period } from "../options/period.ts";
import { reservable } from "../algorithms/reservable.ts";
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
  | "lockout"
  | "concurrency";

/** A limit as it is written: an algorithm by name, and the options of its factory. */
export interface LimitOptions {
  /** Which algorithm decides; default `"slidingCounter"`, with `burst` `"gcra"`. */
  readonly algorithm?: AlgorithmName | undefined;
  /** Units admitted per period in the long run; an integer of at least 0, which refuses everything. */
  readonly limit: number;
  /** Whole milliseconds, or text such as `"10s"`; `calendarWindow` and `concurrency` have none. */
  readonly period?: Period | undefined;
  /** The limit's name in answers; by default it is made of the numbers. */
  readonly name?: string | undefined;
  /** Units that a fresh key starts at once: required by `gcra` and the buckets; also `leakyQueue`. */
  readonly burst?: number | undefined;
  /** The length of a sub-bucket (`slidingWindow`). */
  readonly precision?: Period | undefined;
  /** How long the key is locked, or several durations for locks that grow (`lockout`). */
  readonly lock?: Period | readonly Period[] | undefined;
  /** How long a lock counts after its end (`lockout` with locks that grow). */
  readonly forget?: Period | undefined;
  /** How many calls may wait (`leakyQueue`). */
  readonly queue?: number | undefined;
  /** How the bucket is refilled (`tokenBucket`). */
  readonly refill?: "greedy" | "interval" | undefined;
  /** Where windows begin (`fixedWindow`). */
  readonly anchor?: "epoch" | "first" | number | undefined;
  /** How long windows are (`calendarWindow`). */
  readonly every?: CalendarUnit | undefined;
  /** The IANA name of a time zone (`calendarWindow`). */
  readonly zone?: string | undefined;
  /** The first day of a week, 1 (Monday) to 7 (`calendarWindow` by weeks). */
  readonly weekStart?: number | undefined;
  /** How long a permit is held without being renewed (`concurrency`). */
  readonly ttl?: Period | undefined;
  /** The longest time for which a limiter renews a permit (`concurrency`). */
  readonly maxHold?: Period | undefined;
  /** Whether its keys can be blocked by hand; default no. */
  readonly blockable?: boolean | undefined;
  /** Whether its calls can be settled later, by receipts; default no. */
  readonly reservable?: boolean | undefined;
  /** How long a receipt can be settled; default `"10m"` (`reservable`). */
  readonly within?: Period | undefined;
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
  concurrency,
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
  const { algorithm: named, blockable: blocks, reservable: reserves, within, ...rest } = options;
  const algorithm = named ?? (rest.burst === undefined ? "slidingCounter" : "gcra");
  for (const [name, value] of Object.entries({ blockable: blocks, reservable: reserves })) {
    if (value === undefined || typeof value === "boolean") continue;
    throw typeError("create a limit", `${name} must be true or false`, value);
  }
  if (within !== undefined && reserves !== true) {
    throw typeError("create a limit", "within must be left out unless reservable is true", within);
  }
  if (!Object.hasOwn(FACTORIES, algorithm)) {
    const rule = `algorithm must be one of ${ALGORITHM_NAMES.join(", ")}`;
    throw typeError("create a limit", rule, algorithm);
  }
  const limit = FACTORIES[algorithm](rest as never);
  const own = blocks === true ? blockable(limit) : limit;
  return reserves === true ? reservable(own, { within }) : own;
}
