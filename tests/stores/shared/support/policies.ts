import {
  type Algorithm,
  all,
  fixedWindow,
  gcra,
  leakyBucket,
  leakyQueue,
  lockout,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "../../../../mod.ts";

/** Algorithms that worker threads make by their names; of each kind and each form in the store. */
export const policies: Readonly<Record<string, (limit: number) => Algorithm>> = {
  gcra: (limit) => gcra({ limit, period: "1h" }),
  // Whole milliseconds and a remainder: two words.
  gcraOfTwoWords: (limit) => gcra({ limit: 999_983, period: "1h", burst: limit }),
  tokenBucket: (limit) => tokenBucket({ limit, period: "1h" }),
  tokenBucketByInterval: (limit) => tokenBucket({ limit, period: "1h", refill: "interval" }),
  leakyBucket: (limit) => leakyBucket({ limit, period: "1h" }),
  leakyQueue: (limit) => leakyQueue({ limit, period: "1h", queue: limit - 1 }),
  fixedWindow: (limit) => fixedWindow({ limit, period: "1h" }),
  lockout: (limit) => lockout({ limit, period: "1h", lock: "1h" }),
  slidingCounter: (limit) => slidingCounter({ limit, period: "1h" }),
  slidingLog: (limit) => slidingLog({ limit: Math.min(limit, 60_000), period: "1h" }),
  slidingWindow: (limit) => slidingWindow({ limit, period: "1h", precision: "1m" }),
  fineWindow: (limit) => slidingWindow({ limit, period: "1h", precision: "1s" }),
  finestWindow: (limit) => slidingWindow({ limit, period: 65_536_000, precision: "1s" }),
  all: (limit) =>
    all(
      gcra({ limit, period: "1h" }),
      fixedWindow({ limit: 2 * limit, period: "1h" }),
      slidingWindow({ limit: 2 * limit, period: "1h", precision: "1s" }),
    ),
};

/** The names of the policies. */
export const names: readonly string[] = Object.keys(policies);

/** The algorithm of a name. */
export function policy(name: string, limit: number): Algorithm {
  return policies[name]!(limit);
}
