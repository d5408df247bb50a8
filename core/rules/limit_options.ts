/*
 * A limit as rule files and command lines write it, and the algorithm made of it: the name of a
 * factory and its options.
 */

import type { Algorithm } from "../algorithm.ts";
import { typeError } from "../options/checks.ts";
import { blockable } from "../algorithms/blockable.ts";
import {
  CALENDAR_WINDOW_OPTIONS,
  calendarWindow,
  type CalendarWindowOptions,
} from "../algorithms/calendar_window.ts";
import {
  concurrency,
  CONCURRENCY_OPTIONS,
  type ConcurrencyOptions,
} from "../algorithms/concurrency.ts";
import type { CalendarUnit } from "../arithmetic/calendar.ts";
import {
  FIXED_WINDOW_OPTIONS,
  fixedWindow,
  type FixedWindowOptions,
} from "../algorithms/fixed_window.ts";
import { gcra } from "../algorithms/gcra.ts";
import { leakyBucket } from "../algorithms/leaky_bucket.ts";
import {
  LEAKY_QUEUE_OPTIONS,
  leakyQueue,
  type LeakyQueueOptions,
} from "../algorithms/leaky_queue.ts";
import {
  type GrowingLockoutOptions,
  lockout,
  LOCKOUT_OPTIONS,
  type LockoutOptions,
} from "../algorithms/lockout.ts";
import {
  BURST_OPTIONS,
  type OptionData,
  type OptionsData,
  RATE_OPTIONS,
} from "../options/options_data.ts";
import type { Period } from "../options/period.ts";
import type { BurstOptions, RateOptions } from "../options/rate_options.ts";
import { reservable } from "../algorithms/reservable.ts";
import { slidingCounter } from "../algorithms/sliding_counter.ts";
import { slidingLog } from "../algorithms/sliding_log.ts";
import {
  SLIDING_WINDOW_OPTIONS,
  slidingWindow,
  type SlidingWindowOptions,
} from "../algorithms/sliding_window.ts";
import {
  TOKEN_BUCKET_OPTIONS,
  tokenBucket,
  type TokenBucketOptions,
} from "../algorithms/token_bucket.ts";

/** The options of each algorithm that can be chosen by its name, which is that of its factory. */
export interface AlgorithmOptions {
  /** Calls an emission interval apart, and a burst ahead of that. */
  readonly gcra: BurstOptions;
  /** Units in each window of one period. */
  readonly fixedWindow: FixedWindowOptions;
  /** Units in each hour, day, week, month or year of a time zone. */
  readonly calendarWindow: CalendarWindowOptions;
  /** Units in any span of one period, to the millisecond. */
  readonly slidingLog: RateOptions;
  /** Units in about any span of one period, in three numbers. */
  readonly slidingCounter: RateOptions;
  /** Units in any span of one period, by sub-buckets. */
  readonly slidingWindow: SlidingWindowOptions;
  /** A bucket of tokens that is refilled. */
  readonly tokenBucket: TokenBucketOptions;
  /** A bucket that drains, as a meter. */
  readonly leakyBucket: BurstOptions;
  /** A bucket that drains, as a queue. */
  readonly leakyQueue: LeakyQueueOptions;
  /** Tries in a period, the last of which locks the key. */
  readonly lockout: LockoutOptions | GrowingLockoutOptions;
  /** Units in use at once. */
  readonly concurrency: ConcurrencyOptions;
}

/** The names of the algorithms that a rule can choose: those of their factories. */
export type AlgorithmName = keyof AlgorithmOptions;

/** A factory, and its options as data. Each option is one of `LimitOptions`. */
interface NamedAlgorithm<Options> {
  make(options: Options): Algorithm;
  readonly options: {
    readonly [Name in keyof OptionsData<Options>]: Name extends keyof LimitOptions ? OptionData
      : never;
  };
}

/** The algorithms, in the order of the documentation. */
export const ALGORITHMS: {
  readonly [Name in AlgorithmName]: NamedAlgorithm<AlgorithmOptions[Name]>;
} = {
  gcra: { make: gcra, options: BURST_OPTIONS },
  fixedWindow: { make: fixedWindow, options: FIXED_WINDOW_OPTIONS },
  calendarWindow: { make: calendarWindow, options: CALENDAR_WINDOW_OPTIONS },
  slidingLog: { make: slidingLog, options: RATE_OPTIONS },
  slidingCounter: { make: slidingCounter, options: RATE_OPTIONS },
  slidingWindow: { make: slidingWindow, options: SLIDING_WINDOW_OPTIONS },
  tokenBucket: { make: tokenBucket, options: TOKEN_BUCKET_OPTIONS },
  leakyBucket: { make: leakyBucket, options: BURST_OPTIONS },
  leakyQueue: { make: leakyQueue, options: LEAKY_QUEUE_OPTIONS },
  lockout: { make: lockout, options: LOCKOUT_OPTIONS },
  concurrency: { make: concurrency, options: CONCURRENCY_OPTIONS },
};

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

/** The names of the algorithms, in the order of the documentation. */
export const ALGORITHM_NAMES: readonly AlgorithmName[] = Object.freeze(
  Object.keys(ALGORITHMS) as AlgorithmName[],
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
  if (!Object.hasOwn(ALGORITHMS, algorithm)) {
    const rule = `algorithm must be one of ${ALGORITHM_NAMES.join(", ")}`;
    throw typeError("create a limit", rule, algorithm);
  }
  const limit = ALGORITHMS[algorithm].make(rest as never);
  const own = blocks === true ? blockable(limit) : limit;
  return reserves === true ? reservable(own, { within }) : own;
}
