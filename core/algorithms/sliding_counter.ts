/*
 * The sliding window counter: approximates a sliding log in three numbers per key, for limits too
 * large to log. Its arithmetic is exported because the Redis store compiles it to Lua.
 */

import type { Algorithm } from "../algorithm.ts";
import { countsAfter, isCount, mostUnits } from "../arithmetic/counts.ts";
import { type Accounting, type Arithmetic, buildAlgorithm } from "./build_algorithm.ts";
import { checkExact } from "../options/checks.ts";
import type { Codec } from "../codec.ts";
import { byPlace, type Returns } from "../arithmetic/returns.ts";
import { wordsCodec } from "../arithmetic/numbers_codec.ts";
import { type RateOptions, readRate } from "../options/rate_options.ts";

/**
 * The state of `slidingCounter`: the counts of the last window with use and of the window before.
 */
export interface SlidingCounterState {
  /** The index, since the Unix epoch, of the latest window that holds use. */
  readonly window: number;
  /** Units admitted in the window before `window`. */
  readonly previous: number;
  /** Units admitted in `window`: at least 1, except for a fresh key. */
  readonly current: number;
}

/**
 * The sliding window counter: the count of the last fixed window fades out as the current one goes
 * on, as if its calls had been spread evenly.
 *
 * It admits `cost` when previous * (1 - elapsed / period) + current + cost <= limit, not rounded;
 * windows lie at multiples of the period since the Unix epoch. It admits less than 2 * limit units
 * in any span of one period, and much closer to `limit` in practice: Cloudflare found that of 400
 * million requests 0.003 % were decided differently than by a log. Three numbers per key, whatever
 * the limit.
 *
 * Every call takes constant time. Source: J. Desgats, "How we built rate limiting capable of
 * scaling to millions of domains", Cloudflare (2017).
 *
 * @param options `limit` in units, `period` in milliseconds or as text.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range, or 2 * limit * period is 2^53 or more.
 *
 * @example
 * ```ts
 * import { slidingCounter } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const algorithm = slidingCounter({ limit: 100, period: "1m" });
 * const [, state] = algorithm.step(algorithm.initial, 59_999, 80);
 * const [decision] = algorithm.step(state, 75_000, 1); // a quarter of the 80 has faded
 * assert.equal(decision.remaining, 39);
 * ```
 */
export function slidingCounter(options: RateOptions): Algorithm {
  const rate = readRate("slidingCounter", options, {});
  const { limit, period } = rate;
  checkExact("create slidingCounter", "2 * limit * period", 2 * limit * period);
  return buildAlgorithm({
    ...counterArithmetic(limit, period),
    ...rate,
    formula: ["counter", limit, period],
    id: ["slidingCounter", period],
  });
}

/** Windows at multiples of the period. */
export function counterArithmetic(limit: number, period: number): Arithmetic<SlidingCounterState> {
  // Whatever the limit of the call that counted them, these fade exactly.
  const most = Math.floor((2 ** 53 - 1) / period);
  const accounting = counterAccounting(limit, period);
  const codec = counterCodec(most);
  return { capacity: limit, mostUse: mostUnits(limit, most), initial: FRESH, accounting, codec };
}

const FRESH: SlidingCounterState = Object.freeze({ window: 0, previous: 0, current: 0 });

function counterAccounting(limit: number, period: number): Accounting<SlidingCounterState> {
  const accounting: Accounting<SlidingCounterState> = {
    add(state, now, units) {
      const { window, previous, current } = countsAt(state, now, period);
      return { window, previous, current: current + units };
    },
    giveBack({ window, previous, current }, now, units) {
      const age = Math.floor(now / period) - window;
      if (age > 1) return FRESH;
      if (units < current) return { window, previous, current: current - units };
      const older = age === 1 ? 0 : previous - (units - current);
      return older > 0 ? { window: window - 1, previous: 0, current: older } : FRESH;
    },
    free(state, now) {
      const counts = countsAt(state, now, period);
      return limit - faded(counts, now, period) - counts.current;
    },
    wait: (state, now, cost) => Math.max(0, fadedTo(state, limit - cost, period) - now),
    reset: (state, now) => Math.max(0, fadedTo(state, 0, period) - now),
  };
  return { ...accounting, returns: counterReturns(period, accounting.giveBack) };
}

/**
 * The place of units is their window. Its count is the current count or, a window later, the fading
 * count.
 */
function counterReturns(
  period: number,
  giveBack: Accounting<SlidingCounterState>["giveBack"],
): Returns<SlidingCounterState> {
  return byPlace({
    newest: ({ window }) => window,
    held({ window, previous, current }, now, place) {
      const age = Math.floor(now / period) - window;
      if (place === window) return age <= 1 ? current : 0;
      return place === window - 1 && age <= 0 ? previous : 0;
    },
    without(state, now, units, place) {
      const { window, previous, current } = state;
      if (place === window) return giveBack(state, now, units);
      return { window, previous: previous - units, current };
    },
  });
}

/** The counts at `now`. If `now` is before the state's window, the counts in that window. */
function countsAt(state: SlidingCounterState, now: number, period: number): SlidingCounterState {
  const window = Math.floor(now / period);
  if (window <= state.window) return state;
  return { window, previous: window === state.window + 1 ? state.current : 0, current: 0 };
}

/** Units that the fading count of the previous window takes up at `now`, rounded up. */
function faded({ window, previous }: SlidingCounterState, now: number, period: number): number {
  return Math.ceil(previous * left(window, now, period) / period);
}

/** Milliseconds from `now` to the end of the window, 1 to period. */
function left(window: number, now: number, period: number): number {
  const elapsed = now - window * period;
  return elapsed > 0 ? period - elapsed : period;
}

/** The first millisecond at which at most `units` of the counted units are left. */
function fadedTo(state: SlidingCounterState, units: number, period: number): number {
  const { window, previous, current } = state;
  return units >= current
    ? roomAt(window, previous, units - current, period)
    : roomAt(window + 1, current, units, period);
}

/** The first millisecond at which at most `room` of the `previous` units have yet to fade. */
function roomAt(window: number, previous: number, room: number, period: number): number {
  if (previous <= room) return window * period;
  return (window + 1) * period - Math.floor(room * period / previous);
}

function counterCodec(most: number): Codec<SlidingCounterState> {
  /** The state made of three counts; `undefined` if no step can have made it. */
  function stateOf(window: number, previous: number, current: number) {
    if (!isCount(window) || !isCount(previous) || !isCount(current)) return undefined;
    if (previous > most || current > most) return undefined;
    if (current === 0) return window === 0 && previous === 0 ? FRESH : undefined;
    return { window, previous, current };
  }
  return wordsCodec<SlidingCounterState>(
    3,
    ({ window, previous, current }) => [window, previous, current],
    stateOf,
    ({ window, previous, current }) => `c1 ${window} ${previous} ${current}`,
    (text) => {
      const counts = countsAfter("c1", text);
      if (counts === undefined || counts.length !== 3) return undefined;
      return stateOf(counts[0]!, counts[1]!, counts[2]!);
    },
  );
}
