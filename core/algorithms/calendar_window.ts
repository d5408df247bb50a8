/*
 * The calendar window: quotas as contracts state them: so many units a day or a month, from
 * midnight to midnight in the customer's time zone.
 */

import type { Algorithm } from "../algorithm.ts";
import { type Calendar, calendarOf, type CalendarUnit } from "../arithmetic/calendar.ts";
import { zoneTime } from "../arithmetic/zone_time.ts";
import { buildAlgorithm } from "./build_algorithm.ts";
import {
  checkChoice,
  checkInteger,
  checkOptions,
  LAST_INSTANT,
  rangeError,
} from "../options/checks.ts";
import { LIMIT, NAME, type OptionsData } from "../options/options_data.ts";
import { windowArithmetic, type Windows } from "./fixed_window.ts";

/** The options of `calendarWindow`. */
export interface CalendarWindowOptions {
  /** Units admitted in each window; a positive integer. */
  readonly limit: number;
  /** How long windows are, by the calendar. */
  readonly every: CalendarUnit;
  /** The IANA name of the time zone whose calendar counts: `"Europe/Berlin"`, `"UTC"`. */
  readonly zone: string;
  /** For weeks: the day that they begin with, from 1 for Monday (default) to 7 for Sunday. */
  readonly weekStart?: number | undefined;
  /** The policy's name in headers; by default it is made of the options: `"100-per-month"`. */
  readonly name?: string | undefined;
}

/** The length that policies state for a window while no instant is known: 30 days for a month. */
const PERIODS: Readonly<Record<CalendarUnit, number>> = {
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
  month: 2_592_000_000,
  year: 31_536_000_000,
};

const UNITS: readonly CalendarUnit[] = ["hour", "day", "week", "month", "year"];

/** The options of `calendarWindow` as data. */
export const CALENDAR_WINDOW_OPTIONS: OptionsData<CalendarWindowOptions> = {
  limit: LIMIT,
  every: {
    kind: "choice",
    choices: UNITS,
    about: "How long windows are, by the calendar.",
  },
  zone: {
    kind: "text",
    about: 'The IANA name of the time zone whose calendar counts, such as "Europe/Berlin".',
  },
  weekStart: {
    kind: "integer",
    least: 1,
    most: 7,
    default: 1,
    about: "The day that weeks begin with, from 1 for Monday to 7 for Sunday.",
  },
  name: NAME,
};

/** The last second at which a window may end: a year and some days after the last instant. */
const LAST_END = (LAST_INSTANT + 400 * PERIODS.day) / 1_000;

/**
 * The calendar window: up to `limit` units in each hour, day, week, month or year of a time zone,
 * counted from 0 in the next.
 *
 * A window begins at the first instant of its local date (or hour), and ends where the next one
 * begins. Days thus have 23 to 25 hours where clocks change, months 28 to 31 days. A day without a
 * midnight begins when its clocks do, a day that a zone skipped has no window, and an hour that
 * clocks show twice is one window. `retryAfter`, `nextAfter` and `resetAfter` count to the end of
 * the window, to the millisecond. The period of the policy is the usual length (30 days for a
 * month, 365 for a year); `periodAt` gives the length of a particular window.
 *
 * The state is the end of the window and the units used, so hosts with different time zone data
 * agree within a window, and a clock that steps back into an earlier window counts on in the later
 * one. Around the end of a window up to 2 * limit units may pass, as with `fixedWindow`.
 *
 * Every call takes constant time; `Intl` is asked at the first call in a window.
 *
 * @param options `limit` in units, `every` and `zone` as above.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range, or the time zone is unknown.
 *
 * @example
 * ```ts
 * import { calendarWindow } from "tidegate";
 * import assert from "node:assert/strict";
 *
 * const monthly = calendarWindow({ limit: 10_000, every: "month", zone: "Europe/Berlin" });
 * const now = Date.parse("2026-03-31T23:30:00+02:00");
 * const [decision] = monthly.step(monthly.initial, now, 1);
 * assert.equal(decision.remaining, 9_999);
 * assert.equal(decision.resetAfter, 30 * 60_000);
 * ```
 */
export function calendarWindow(options: CalendarWindowOptions): Algorithm {
  const { limit, every, zone, weekStart, calendar } = readOptions(options);
  const period = PERIODS[every];
  const { name = `${limit}-per-${every}` } = options;
  const week = weekStart === 1 ? [] : [weekStart];
  return buildAlgorithm({
    ...windowArithmetic(limit, windowsBy(calendar)),
    limit,
    period,
    periodAt(now) {
      const { start, end } = calendar(now);
      return end - start;
    },
    name,
    id: ["calendarWindow", every, zone, ...week],
  });
}

function readOptions(options: CalendarWindowOptions) {
  const action = "create calendarWindow";
  checkOptions<CalendarWindowOptions>(action, options, {
    limit: true,
    every: true,
    zone: true,
    weekStart: true,
    name: true,
  });
  const { limit, every, zone, weekStart = 1 } = options;
  checkInteger(action, "limit", limit, 0);
  checkChoice(action, "every", every, UNITS);
  checkInteger(action, "weekStart", weekStart, 1, 7);
  if (options.weekStart !== undefined && every !== "week") {
    throw rangeError(action, 'weekStart must be left out unless every is "week"', weekStart);
  }
  const calendar = calendarOf(zoneTime(action, zone), every, weekStart);
  return { limit, every, zone, weekStart, calendar };
}

/** The windows of a calendar. A window's place is the second at which it ends. */
function windowsBy(calendar: Calendar): Windows {
  return {
    current: (now, place) => now < place * 1_000 ? place : calendar(now).end / 1_000,
    end: (place) => place * 1_000,
    last: LAST_END,
  };
}
