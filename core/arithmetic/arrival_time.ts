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
import type { Returns } from "../receipts/returns.ts";
import type { Ticks } from "./ticks.ts";

/**
 * The accounting that is based on a theoretical arrival time.
 *
 * @param scale How instants are counted.
 * @param interval The emission interval in ticks.
 * @param capacity Units that a fresh key admits at one instant.
 * @param mostUse The most units that may be in use.
 * @param newestOnly Whether only the units of the newest call are given back by a receipt.
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
    returns: arrivalReturns(scale, interval, tolerance, newestOnly),
  };
}

/** Ticks given back are counted modulo this number. */
const BACK_CYCLE = 2 ** 53;

/** The sum, modulo the cycle, of two numbers below it: their sum alone need not be exact. */
function cycled(back: number, ticks: number): number {
  return back < BACK_CYCLE - ticks ? back + ticks : back - (BACK_CYCLE - ticks);
}

/**
 * How the units of one call are given back. Units drain first in, first out, so those of a call are
 * gone when its TAT has come: a refund before that moves the TAT back, and with it the TAT of every
 * call after it. So the state counts all ticks that were ever given back, and a receipt keeps that
 * count as of its call. A receipt cannot know whether ticks given back since then came before its
 * own units or after them. It assumes before, so that it never gives back more than still counts.
 * Giving back the newest call's units moves no other call's TAT, so those ticks are not counted.
 *
 * @param newestOnly Whether only the newest call's units can be given back: a place in a queue.
 */
function arrivalReturns<Instant>(
  { initial, ahead, due, later, earlier, codec }: Ticks<Instant>,
  interval: number,
  tolerance: number,
  newestOnly: boolean,
): Returns<Instant> {
  const size = 1 + codec.maxWords;
  const words = new Float64Array(size);
  return {
    size,
    mark(tat, back) {
      if (typeof tat === "number") return [back, tat];
      codec.write(tat, words, 1);
      return [back, words[1]!, words[2]!];
    },
    giveBack(tat, now, units, mark, back, closes) {
      if (mark.length !== size) return [tat, 0, back];
      for (let word = 1; word < size; word++) words[word] = mark[word]!;
      const end = codec.read(words, 1, codec.maxWords);
      if (end === undefined) return [tat, 0, back];
      const since = back >= mark[0]! ? back - mark[0]! : BACK_CYCLE - (mark[0]! - back);
      const use = ahead(tat, now);
      const place = ahead(end, now) - since;
      const isNewest = place === use;
      const counting = Math.min(place, use, units * interval);
      if (counting <= 0 || (newestOnly && !isNewest)) return [tat, 0, back];
      const next = counting < use ? earlier(tat, counting) : initial;
      return [next, counting / interval, isNewest && closes ? back : cycled(back, counting)];
    },
    lasts: (_tat, now) => due(later(initial, now, tolerance), 0) - now,
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
