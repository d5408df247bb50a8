/*
 * Builds the algorithms that drain continuously (gcra, leakyBucket, the greedy tokenBucket,
 * leakyQueue) on the scale of instants that is exact for their numbers.
 */

import type { Algorithm } from "../algorithm.ts";
import { arrivalTime, startTime } from "../arithmetic/arrival_time.ts";
import { mostUnits } from "../arithmetic/counts.ts";
import { type Arithmetic, buildAlgorithm } from "./build_algorithm.ts";
import { refuseAll } from "./refuse_all.ts";
import { checkExact, checkRange, greatestCommonDivisor } from "../options/checks.ts";
import {
  type FineInstant,
  fineTicks,
  type Ticks,
  ticksFitOneNumber,
  wholeTicks,
} from "../arithmetic/ticks.ts";
import { type BurstOptions, type Rate, readBurst } from "../options/rate_options.ts";

/** The state of a continuously drained algorithm: its TAT, as one number where that is exact. */
export type ArrivalState = number | FineInstant;

/** The options that the algorithms which drain continuously at `limit` per `period` have in common. */
export interface ArrivalTimeOptions extends Rate {
  readonly factory: string;
  /** Units that a fresh key admits at one instant. */
  readonly capacity: number;
  /**
   * The part of the capacity that may wait for its start after it was admitted; 0 if no unit waits.
   */
  readonly queue: number;
}

/** Builds gcra, leakyBucket and the greedy tokenBucket: the same reducer under three names. */
export function burstAlgorithm(factory: string, options: BurstOptions): Algorithm<ArrivalState> {
  const { burst, ...rate } = readBurst(factory, options);
  return arrivalTimeAlgorithm({
    ...rate,
    factory,
    capacity: burst,
    queue: 0,
  });
}

/**
 * Builds leakyQueue and the algorithms of `burstAlgorithm`.
 *
 * @throws {RangeError} If burst * period / gcd(limit, period) is 2^53 or more, or a full bucket
 * takes so long to drain that the instant is past 2^53.
 */
export function arrivalTimeAlgorithm(bucket: ArrivalTimeOptions): Algorithm<ArrivalState> {
  const { factory, limit, period, capacity, queue } = bucket;
  const id = [factory, limit, period] as const;
  if (limit === 0) return refuseAll<ArrivalState>(bucket, id, 0);
  const divisor = greatestCommonDivisor(limit, period);
  const perMillisecond = limit / divisor;
  const interval = period / divisor;
  const furthest = capacity * interval;
  const action = `create ${factory}`;
  const burstText = queue > 0 ? "(queue + burst)" : "burst";
  checkExact(action, `${burstText} * period / gcd(limit, period)`, furthest);
  checkRange(action, `2^42 + ${burstText} * period / limit`, furthest / perMillisecond);
  // Nearly always the burst does not matter. Where it does, its states are of another kind.
  const isWholeByRate = ticksFitOneNumber(perMillisecond, limit * interval);
  const isWhole = isWholeByRate && ticksFitOneNumber(perMillisecond, furthest);
  const scale = (isWhole ? wholeTicks : fineTicks)(perMillisecond) as Ticks<ArrivalState>;
  const arithmetic = arrivalArithmetic(scale, interval, capacity, queue > 0);
  const { accounting, mostUse } = arithmetic;
  const mostAhead = unitsAhead(scale, limit, interval);
  return buildAlgorithm({
    ...arithmetic,
    accounting: queue > 0 ? startTime(accounting, queue) : accounting,
    ...bucket,
    id: isWholeByRate && !isWhole ? [...id, "fine"] : id,
    mostAhead,
    ...(isWhole && { formula: ["ticks", perMillisecond, 1, interval, capacity, mostAhead] }),
    arrival: isWhole ? { limit, perMillisecond, interval, capacity, mostUse, queue } : undefined,
  });
}

/**
 * Units in use, whatever the burst, that no store takes for a clock that was set back: those of one
 * period. A store marks a state with more, which has a larger burst or a debt.
 */
export function unitsAhead(
  { furthest }: Pick<Ticks<unknown>, "furthest">,
  limit: number,
  interval: number,
): number {
  return Math.min(limit, Math.floor(furthest / interval));
}

/** The arithmetic of arrival times on a scale of instants. */
export function arrivalArithmetic<Instant>(
  scale: Ticks<Instant>,
  interval: number,
  capacity: number,
  newestOnly: boolean = false,
): Required<Arithmetic<Instant>> {
  const mostUse = mostUnits(capacity, scale.furthest / interval);
  const accounting = arrivalTime(scale, interval, capacity, mostUse, newestOnly);
  return { capacity, mostUse, initial: scale.initial, accounting, codec: scale.codec };
}
