/*
 * Builds the algorithms that drain continuously (gcra, leakyBucket, the greedy tokenBucket,
 * leakyQueue) on the scale of instants that is exact for their numbers.
 */

import type { Algorithm } from "../algorithm.ts";
import { arrivalTime, startTime } from "../arithmetic/arrival_time.ts";
import { mostUse } from "../arithmetic/counts.ts";
import { buildAlgorithm, type Parts } from "./build_algorithm.ts";
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
  const { limit, period, burst, queues } = bucket;
  const divisor = greatestCommonDivisor(limit, period);
  const perMillisecond = limit / divisor;
  const interval = period / divisor;
  const furthest = burst * interval;
  const action = `create ${bucket.factory}`;
  const burstText = queues ? "(queue + 1)" : "burst";
  checkExact(action, `${burstText} * period / gcd(limit, period)`, furthest);
  checkRange(action, `2^42 + ${burstText} * period / limit`, furthest / perMillisecond);
  if (!fitsOneNumber(perMillisecond, furthest)) {
    const scale = fineTicks(perMillisecond);
    return onScale(bucket, scale, interval) as Algorithm<ArrivalState>;
  }
  return onScale(bucket, wholeTicks(perMillisecond), interval, (most) => {
    return wholeArrivalTime(limit, perMillisecond, interval, burst, most, queues);
  }) as Algorithm<ArrivalState>;
}

function onScale<Instant>(
  bucket: ArrivalTimeOptions,
  scale: Ticks<Instant>,
  interval: number,
  halvesOf?: (mostUse: number) => Parts<Instant>["halves"],
): Algorithm<Instant> {
  const { factory, name, limit, period, burst, last } = bucket;
  const most = mostUse(burst, scale.furthest / interval);
  const questionsOf = bucket.queues ? startTime : arrivalTime;
  return buildAlgorithm({
    name,
    id: [factory, limit, period, last],
    limit,
    period,
    capacity: burst,
    mostUse: most,
    initial: scale.initial,
    questions: questionsOf(scale, interval, burst, most),
    codec: scale.codec,
    halves: halvesOf?.(most),
  });
}
