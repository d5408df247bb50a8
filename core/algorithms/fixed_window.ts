/*
 * The fixed window: the simplest limit, with the reset that is easiest to explain to users. Its
 * arithmetic is exported because the Redis store compiles it to Lua.
 */

import type { Algorithm } from "../algorithm.ts";
import { mostUnits } from "../arithmetic/counts.ts";
import { type Accounting, type Arithmetic, buildAlgorithm } from "./build_algorithm.ts";
import { byPlace } from "../arithmetic/returns.ts";
import { errorMessage, LAST_INSTANT } from "../options/checks.ts";
import { LIMIT, NAME, type OptionsData, PERIOD } from "../options/options_data.ts";
import { type RateOptions, readRate } from "../options/rate_options.ts";
import { NO_USE, type UseForm, type WindowUse, windowUse } from "../arithmetic/window_use.ts";

/** The options of `fixedWindow`. */
export interface FixedWindowOptions extends RateOptions {
  /**
   * Where windows lie: `"epoch"` (default) at multiples of the period since the Unix epoch; a
   * number shifts them by that many milliseconds (days in a time zone); `"first"` opens a window at
   * the first admitted call, and the next one at the first call after that window has ended or all
   * of its use was given back.
   */
  readonly anchor?: "epoch" | "first" | number | undefined;
}

/** The options of `fixedWindow` as data. */
export const FIXED_WINDOW_OPTIONS: OptionsData<FixedWindowOptions> = {
  limit: LIMIT,
  period: PERIOD,
  name: NAME,
  anchor: {
    kind: "either",
    kinds: [{ kind: "choice", choices: ["epoch", "first"] }, { kind: "integer" }],
    default: "epoch",
    about:
      "Where windows lie: at multiples of the period (epoch), shifted by milliseconds, or opened by the first call.",
  },
};

/**
 * Where windows lie. A number identifies a window, its place: the window's index if windows follow
 * one another, otherwise its first millisecond.
 */
export interface Windows {
  /**
   * The window that a call at `now` falls in, if the key was last used in the window at `place`.
   */
  current(now: number, place: number): number;
  /** The first millisecond after the window. */
  end(place: number): number;
  /** The largest place: the place of the last instant. */
  readonly last: number;
}

/**
 * The fixed window: up to `limit` units in each window of one period, counted from 0 in the next.
 *
 * It admits `cost` when the window's count + cost <= limit. Its known weakness: around the end of a
 * window up to 2 * limit units pass within one period, and all refused callers come back at the
 * same instant. `gcra`, `slidingLog` and `slidingCounter` have neither weakness. If the clock steps
 * back into an earlier window, calls go on counting in the later one. The state is one number where
 * that is exact.
 *
 * Every call takes constant time. Source: J. Carlson, "Introduction to rate limiting with
 * Redis" (2011).
 *
 * @param options `limit` in units, `period` in milliseconds or as text, `anchor` as above.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range.
 *
 * @example Days that begin at midnight in a zone two hours ahead of UTC
 * ```ts
 * import { fixedWindow } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const hour = 3_600_000;
 * const daily = fixedWindow({ limit: 1_000, period: "1d", anchor: -2 * hour });
 * const [decision] = daily.step(daily.initial, 21 * hour, 1); // 23:00 there
 * assert.equal(decision.remaining, 999);
 * assert.equal(decision.resetAfter, hour);
 * ```
 */
export function fixedWindow(options: FixedWindowOptions): Algorithm {
  const rate = readRate("fixedWindow", options, { anchor: true });
  const { anchor: given = "epoch" } = options;
  const anchor = readAnchor(given, rate.period);
  const { limit, period } = rate;
  const windows = anchor === "first" ? opened(period) : inRow(period, anchor);
  return buildAlgorithm<WindowUse>({
    ...windowArithmetic(limit, windows),
    ...rate,
    formula: ["window", limit, period, anchor === "first" ? -1 : anchor],
    id: ["fixedWindow", period, anchor === 0 ? "epoch" : anchor],
  });
}

/** The arithmetic of windows. */
export function windowArithmetic(limit: number, windows: Windows): Arithmetic<WindowUse> {
  const form = windowUse(windows.last);
  return {
    capacity: limit,
    mostUse: mostUnits(limit, 2 ** 53),
    initial: NO_USE,
    accounting: windowAccounting(limit, windows, form),
    codec: form.codec,
  };
}

function windowAccounting(
  limit: number,
  windows: Windows,
  { of, place, used }: UseForm,
): Accounting<WindowUse> {
  /** Units used in the window that a call at `now` falls in. */
  function usedNow(use: WindowUse, now: number): number {
    const held = place(use);
    return windows.current(now, held) === held ? used(use, held) : 0;
  }

  function giveBack(use: WindowUse, now: number, units: number): WindowUse {
    const count = usedNow(use, now);
    return units < count ? of(place(use), count - units) : NO_USE;
  }

  return {
    add(use, now, units) {
      const held = place(use);
      const current = windows.current(now, held);
      const before = current === held ? used(use, held) : 0;
      return of(current, before + units);
    },
    giveBack,
    free: (use, now) => limit - usedNow(use, now),
    reset: (use, now) => usedNow(use, now) === 0 ? 0 : windows.end(place(use)) - now,
    returns: byPlace({
      newest: place,
      held: (use, now, window) => place(use) === window ? usedNow(use, now) : 0,
      without: giveBack,
    }),
  };
}

/** Windows one after the other. A window's place is its index, from 0. */
export function inRow(period: number, shift: number): Windows {
  const offset = (period - shift) % period;
  const indexOf = (now: number) => Math.floor((now + offset) / period);
  return {
    current(now, place) {
      const index = indexOf(now);
      return index > place ? index : place;
    },
    end: (place) => (place + 1) * period - offset,
    last: indexOf(LAST_INSTANT),
  };
}

/** Windows that open with a call. A window's place is its first millisecond. */
export function opened(period: number): Windows {
  return {
    current: (now, place) => now < place + period ? place : now,
    end: (place) => place + period,
    last: LAST_INSTANT,
  };
}

/** Reads `anchor`: `"first"`, or the shift of the windows, at least 0 and less than a period. */
function readAnchor(
  anchor: NonNullable<FixedWindowOptions["anchor"]>,
  period: number,
): "first" | number {
  if (anchor === "first") return anchor;
  if (anchor === "epoch") return 0;
  if (Number.isSafeInteger(anchor)) return ((anchor % period) + period) % period;
  const rule = 'anchor must be "epoch", "first" or whole milliseconds';
  const message = errorMessage("create fixedWindow", rule, anchor);
  throw typeof anchor === "number" ? new RangeError(message) : new TypeError(message);
}
