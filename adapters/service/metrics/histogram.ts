/*
 * Histograms of durations with fixed buckets, so that the histograms of threads can be added up,
 * and the service's times can be compared with Redis's.
 */

import { ROUND_TRIP_SECONDS } from "../../../stores/redis/redis_store.ts";

/** The upper ends of the buckets of all histograms, in seconds. */
export const LATENCY_BUCKETS: readonly number[] = ROUND_TRIP_SECONDS;

/** Times, counted by bucket. */
export interface Histogram {
  /** How many fell into each bucket, not cumulative; the last one has no upper end. */
  readonly counts: readonly number[];
  /** The sum of all times, in seconds. */
  readonly sum: number;
}

/** A histogram that times are added to. */
export interface CountedTimes {
  readonly counts: number[];
  sum: number;
}

/** Makes an empty histogram. */
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
