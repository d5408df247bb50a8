import { ROUND_TRIP_SECONDS } from "../../../stores/redis/redis_store.ts";

/** The upper ends of the buckets of all histograms, in seconds. */
export const LATENCY_BUCKETS: readonly number[] = ROUND_TRIP_SECONDS;

/** Times, counted by how long they were. */
export interface Histogram {
  /** How many were at most as long as each of `LATENCY_BUCKETS`, and longer than all. */
  readonly counts: readonly number[];
  /** Seconds of all together. */
  readonly sum: number;
}

/** A histogram that is being counted. */
export interface CountedTimes {
  readonly counts: number[];
  sum: number;
}

/** Makes a histogram of no times yet. */
export function noTimes(): CountedTimes {
  return { counts: new Array<number>(LATENCY_BUCKETS.length + 1).fill(0), sum: 0 };
}

/** Counts a time. */
export function countTime(times: CountedTimes, seconds: number): void {
  let bucket = 0;
  while (bucket < LATENCY_BUCKETS.length && seconds > LATENCY_BUCKETS[bucket]!) bucket++;
  times.counts[bucket]!++;
  times.sum += seconds;
}
