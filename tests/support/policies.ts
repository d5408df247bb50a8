import {
  type Algorithm,
  all,
  blockable,
  calendarWindow,
  fixedWindow,
  gcra,
  leakyBucket,
  leakyQueue,
  lockout,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "../../mod.ts";

/** Algorithms of each kind, and of each form in a shared store, that threads make by their names. */
const policies: Readonly<Record<string, (limit: number, period: number) => Algorithm>> = {
  gcra: (limit, period) => gcra({ limit, period, burst: limit }),
  // Whole milliseconds and a remainder: two words.
  gcraOfTwoWords: (limit, period) => gcra({ limit: 2_053, period, burst: limit }),
  tokenBucket: (limit, period) => tokenBucket({ limit, period, burst: limit }),
  tokenBucketByInterval: (limit, period) =>
    tokenBucket({ limit, period, burst: limit, refill: "interval" }),
  leakyBucket: (limit, period) => leakyBucket({ limit, period, burst: limit }),
  leakyQueue: (limit, period) => leakyQueue({ limit, period, queue: limit - 1 }),
  fixedWindow: (limit, period) => fixedWindow({ limit, period }),
  calendarWindow: (limit) => calendarWindow({ limit, every: "year", zone: "Europe/Berlin" }),
  lockout: (limit, period) => lockout({ limit, period, lock: period }),
  blockableGcra: (limit, period) => blockable(gcra({ limit, period, burst: limit })),
  slidingCounter: (limit, period) => slidingCounter({ limit, period }),
  slidingLog: (limit, period) => slidingLog({ limit: Math.min(limit, 60_000), period }),
  slidingWindow: (limit, period) => slidingWindow({ limit, period, precision: period / 60 }),
  fineWindow: (limit, period) => slidingWindow({ limit, period, precision: period / 3_600 }),
  finestWindow: (limit) => slidingWindow({ limit, period: 65_536_000, precision: "1s" }),
  all: (limit, period) =>
    all(
      gcra({ limit, period, burst: limit }),
      fixedWindow({ limit: 2 * limit, period }),
      slidingWindow({ limit: 2 * limit, period, precision: period / 3_600 }),
    ),
};

/** The names of the policies. */
export const names: readonly string[] = Object.keys(policies);

/** The algorithm of a name; the period is an hour, or a whole multiple of 3,600 ms. */
export function policy(name: string, limit: number, period = 3_600_000): Algorithm {
  return policies[name]!(limit, period);
}
