/*
 * Builds the algorithms that drain continuously (gcra, leakyBucket, the greedy tokenBucket,
 * leakyQueue) on the scale of instants that is exact for their numbers.
 */

import type { Algorithm, Halves } from "../algorithm.ts";
import { arrivalTime, startTime } from "../arithmetic/arrival_time.ts";
import { buildAlgorithm } from "./build_algorithm.ts";
import { checkExact, checkRange, greatestCommonDivisor } from "../options/checks.ts";
import {
  type FineInstant,
  fineTicks,
  fitsOneNumber,
  type Ticks,
  wholeTicks,
} from "../arithmetic/ticks.ts";
import { wholeArrivalTime } from "../arithmetic/whole_arrival_time.ts";
import { type BurstOptions, readBurst } from "../options/rate_options.ts";

/** What a continuously drained algorithm keeps: its TAT, as one number where that is exact. */
export type ArrivalState = number | FineInstant;

/** What the algorithms that drain continuously at `limit` per `period` have in common. */
export interface ArrivalTimeOptions {
  readonly factory: string;
  readonly name: string | undefined;
  readonly limit: number;
  readonly period: number;
  readonly burst: number;
  /** The last option: what `id` says after limit and period. */
  readonly last: number;
  /** Whether an admitted call waits for its start. */
  readonly queues: boolean;
}

/** Builds gcra, leakyBucket and the greedy tokenBucket: the same reducer under three names. */
export function burstAlgorithm(factory: string, options: BurstOptions): Algorithm<ArrivalState> {
  const rate = readBurst(factory, options);
  return arrivalTimeAlgorithm({
    ...rate,
    factory,
    name: options.name,
    last: rate.burst,
    queues: false,
  });
}

/**
 * Builds what `burstAlgorithm` does, and leakyQueue.
 *
 * @throws {RangeError} If burst * period / gcd(limit, period) is 2^53 or more, or a full bucket
 * takes so long to drain that the instant is past 2^53.
 */
export function arrivalTimeAlgorithm(bucket: ArrivalTimeOptions): Algorithm<ArrivalState> {
  const divisor = greatestCommonDivisor(bucket.limit, bucket.period);
  const perMillisecond = bucket.limit / divisor;
  const interval = bucket.period / divisor;
  const furthest = bucket.burst * interval;
  const action = `create ${bucket.factory}`;
  const burstText = bucket.queues ? "(queue + 1)" : "burst";
  checkExact(action, `${burstText} * period / gcd(limit, period)`, furthest);
  checkRange(action, `2^42 + ${burstText} * period / limit`, furthest / perMillisecond);
  if (!fitsOneNumber(perMillisecond, furthest)) {
    const scale = fineTicks(perMillisecond);
    return onScale(bucket, scale, interval) as Algorithm<ArrivalState>;
  }
  const scale = wholeTicks(perMillisecond);
  const { limit, queues } = bucket;
  const halves = wholeArrivalTime(limit, perMillisecond, interval, bucket.burst, queues);
  return onScale(bucket, scale, interval, halves) as Algorithm<ArrivalState>;
}

function onScale<Instant>(
  bucket: ArrivalTimeOptions,
  scale: Ticks<Instant>,
  interval: number,
  halves?: Halves<Instant>,
): Algorithm<Instant> {
  const questionsOf = bucket.queues ? startTime : arrivalTime;
  return buildAlgorithm({
    name: bucket.name,
    id: [bucket.factory, bucket.limit, bucket.period, bucket.last],
    limit: bucket.limit,
    period: bucket.period,
    capacity: bucket.burst,
    initial: scale.initial,
    questions: questionsOf(scale, interval, bucket.burst),
    codec: scale.codec,
    ...(halves === undefined ? {} : { halves }),
  });
}
