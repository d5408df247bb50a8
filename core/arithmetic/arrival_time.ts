/*
 * One arithmetic, four names.
 *
 * The generic cell rate algorithm keeps the theoretical arrival time (TAT): when the next call
 * would come if all calls came exactly one emission interval apart. A call of cost c conforms if it
 * comes at most capacity - c intervals before the TAT. It moves the TAT on by c intervals.
 *
 *   gcra          keeps the TAT itself
 *   leakyBucket   level = (TAT - now) / interval, draining as now moves on
 *   tokenBucket   tokens = capacity - level, refilling as now moves on
 *   leakyQueue    the TAT less the intervals of a burst is when the next call starts; queue + burst
 *                 intervals is how far it may lie ahead
 *
 * The four are different views of one computation: apart from `delay`, all of their decisions are
 * equal, so one reducer serves all four. The TAT needs no clamp for a clock that steps back: seen
 * from an earlier now it lies further ahead, and admits less.
 *
 * Sources: ITU-T I.371 annex A, the virtual scheduling algorithm; J. Turner, "New Directions in
 * Communications" (IEEE Communications Magazine 24.10, 1986), the leaky bucket as a meter.
 */

import type { Accounting } from "../algorithms/build_algorithm.ts";
import { NO_CALL_SINCE, type Returns } from "./returns.ts";
import type { Ticks } from "./ticks.ts";

/**
 * The accounting that is based on a theoretical arrival time.
 *
 * @param scale How instants are counted.
 * @param interval The emission interval in ticks.
 * @param capacity Units that a fresh key admits at one instant.
 * @param mostUse The most units that may be in use.
 * @param newestOnly Whether only the units of the newest call can be settled: a place in a queue.
 */
export function arrivalTime<Instant>(
  scale: Ticks<Instant>,
  interval: number,
  capacity: number,
  mostUse: number,
  newestOnly: boolean = false,
): Accounting<Instant> {
  const { initial, ahead, due, later, earlier } = scale;
  const tolerance = capacity * interval;

  function until(tat: Instant, now: number, ticks: number): number {
    const wait = due(tat, ticks) - now;
    return wait > 0 ? wait : 0;
  }

  return {
    add: (tat, now, units) => later(tat, now, units * interval),
    giveBack(tat, now, units) {
      // No more units than `mostUse` are ever in use, however far ahead a clock that stepped back
      // sees the TAT.
      const decrement = (units < mostUse ? units : mostUse) * interval;
      return decrement < ahead(tat, now) ? earlier(tat, decrement) : initial;
    },
    free: (tat, now) => Math.floor((tolerance - ahead(tat, now)) / interval),
    wait: (tat, now, cost) => until(tat, now, tolerance - cost * interval),
    reset: (tat, now) => until(tat, now, 0),
    returns: arrivalReturns(scale, interval, mostUse, newestOnly),
  };
}

/**
 * How the units of one call are given back: by its lag. Without lags, a call is known to be the newest
 * if the arrival time is still the one that it left. Any later call, up to now, found at least what the
 * call left to drain from now on, less what was given back in between.
 */
function arrivalReturns<Instant>(
  { initial, ahead, earlier, codec }: Ticks<Instant>,
  interval: number,
  mostUse: number,
  newestOnly: boolean,
): Returns<Instant> {
  const size = codec.maxWords;
  const words = new Float64Array(size);

  function mark(tat: Instant): readonly number[] {
    if (typeof tat === "number") return [tat];
    codec.write(tat, words, 0);
    return [...words];
  }

  /** The least lag that a call can have which left an arrival time. */
  function leastLag(left: readonly number[], now: number, since: number): number {
    words.set(left);
    const end = codec.read(words, 0, size);
    return end === undefined ? 0 : Math.max(0, ahead(end, now) - since * interval);
  }

  return {
    marks: size,
    ticks: [interval],
    mark,
    use: (tat, now) => ahead(tat, now),
    giveBack(tat, now, units, left, since, lags, at = 0) {
      const wanted = Math.min(units, mostUse) * interval;
      const isNewest = lags === undefined
        ? mark(tat).every((word, index) => word === left[index])
        : lags[at] === NO_CALL_SINCE;
      const lag = isNewest ? wanted : newestOnly ? 0 : lags?.[at] ?? leastLag(left, now, since);
      // A mark that somebody altered must not lead to an instant before the epoch.
      const moved = Math.min(wanted, lag, ahead(tat, 0));
      const use = ahead(tat, now);
      const isFresh = lags === undefined && moved >= use;
      return {
        next: moved === 0 ? tat : isFresh ? initial : earlier(tat, moved),
        returned: Math.min(moved, use) / interval,
        wanted: [wanted],
        moved: [moved],
      };
    },
  };
}

/**
 * The accounting of a queue: an admitted call waits for its start, and at most `queue` units wait.
 */
export function startTime<Instant>(
  accounting: Accounting<Instant>,
  queue: number,
): Accounting<Instant> {
  const { wait } = accounting;
  // A call starts when one of `queue + 1` units would have been admitted.
  return { ...accounting, delay: (tat, now) => wait!(tat, now, queue + 1) };
}
