/*
 * One arithmetic, four names.
 *
 * The generic cell rate algorithm keeps the theoretical arrival time (TAT): when the next call
 * would come if all calls came exactly one emission interval apart. A call of cost c conforms if it
 * comes at most burst - c intervals before the TAT. It moves the TAT on by c intervals.
 *
 *   gcra          keeps the TAT itself
 *   leakyBucket   level = (TAT - now) / interval, draining as now moves on
 *   tokenBucket   tokens = burst - level, refilling as now moves on
 *   leakyQueue    the TAT less the intervals of a burst is when the next call starts; queue + burst
 *                 intervals is how far it may lie ahead
 *
 * They differ in what people see in them, not in a single decision but `delay`; so here is the
 * reducer of all four. The TAT needs no clamp for a clock that steps back: seen from an earlier
 * now it lies further ahead, and admits less.
 *
 * Sources: ITU-T I.371 annex A, the virtual scheduling algorithm; J. Turner, "New Directions in
 * Communications" (IEEE Communications Magazine 24.10, 1986), the leaky bucket as a meter.
 */

import type { Accounting } from "../algorithms/build_algorithm.ts";
import type { Ticks } from "./ticks.ts";

/**
 * The accounting by a theoretical arrival time.
 *
 * @param scale How instants are counted.
 * @param interval The emission interval in ticks.
 * @param burst Units that a fresh key admits at one instant.
 * @param mostUse The most units that may be in use.
 */
export function arrivalTime<Instant>(
  scale: Ticks<Instant>,
  interval: number,
  burst: number,
  mostUse: number,
): Accounting<Instant> {
  const { initial, ahead, due, later, earlier } = scale;
  const tolerance = burst * interval;

  function until(tat: Instant, now: number, ticks: number): number {
    const wait = due(tat, ticks) - now;
    return wait > 0 ? wait : 0;
  }

  return {
    add: (tat, now, units) => later(tat, now, units * interval),
    giveBack(tat, now, units) {
      // No more are ever in use, however far ahead a stepped-back clock sees them.
      const decrement = (units < mostUse ? units : mostUse) * interval;
      return decrement < ahead(tat, now) ? earlier(tat, decrement) : initial;
    },
    free: (tat, now) => Math.floor((tolerance - ahead(tat, now)) / interval),
    wait: (tat, now, cost) => until(tat, now, tolerance - cost * interval),
    reset: (tat, now) => until(tat, now, 0),
  };
}

/** The same, but a call waits for its start, as long as at most `queue` units wait. */
export function startTime<Instant>(
  accounting: Accounting<Instant>,
  queue: number,
): Accounting<Instant> {
  const { wait } = accounting;
  // A call starts when one of `queue + 1` units would have been admitted.
  return { ...accounting, delay: (tat, now) => wait!(tat, now, queue + 1) };
}
