/*
 * The windows of a calendar: hours, days, weeks, months and years as the clocks of a zone show them.
 *
 * A window begins at the first instant at which clocks show its first moment or a later one. That
 * settles every odd day. A day whose midnight is skipped begins right after the skip. A day that is
 * skipped altogether has no window. Clocks that step back over midnight do not return to the day
 * before.
 *
 * Since 1970 no zone has been sixteen hours from UTC, nor changed its clocks twice within 32 hours:
 * so two looks around the edge of a window show whether clocks change there.
 */

import type { ZoneTime } from "./zone_time.ts";

/** The lengths of windows that a calendar knows. */
export type CalendarUnit = "hour" | "day" | "week" | "month" | "year";

/** A window of a calendar, in milliseconds since the Unix epoch. */
export interface CalendarSpan {
  /** The first millisecond. */
  readonly start: number;
  /** The first millisecond after it. */
  readonly end: number;
}

/** Finds the window that an instant falls in. */
export type Calendar = (now: number) => CalendarSpan;

const HOUR = 3_600;
const DAY = 24 * HOUR;
/** A twelfth of 365.2425 days. */
const MEAN_MONTH = 2_629_746;
/** The seconds by which any zone's clocks differ from UTC at most. */
const FARTHEST = 16 * HOUR;

/** How windows of a unit follow one another, in seconds as clocks show them. */
interface UnitSteps {
  /** The first second of the window that a second falls in, `windows` later. */
  begin(second: number, windows: number): number;
  /** The seconds of the shortest window, unless clocks change. */
  readonly shortest: number;
}

/** A unit of the same length throughout, in windows counted from `first`. */
function evenSteps(length: number, first = 0): UnitSteps {
  return {
    begin: (second, windows) => (Math.floor((second - first) / length) + windows) * length + first,
    shortest: length,
  };
}

/** A unit of a number of months. */
function monthSteps(months: number): UnitSteps {
  const beginOf = (index: number) => Date.UTC(1970, index * months, 1) / 1_000;
  return {
    begin(second, windows) {
      // An index computed from the mean length is at most one window off.
      let index = Math.floor(second / (months * MEAN_MONTH));
      while (beginOf(index) > second) index--;
      while (beginOf(index + 1) <= second) index++;
      return beginOf(index + windows);
    },
    shortest: months * 28 * DAY,
  };
}

function stepsOf(unit: CalendarUnit, weekStart: number): UnitSteps {
  switch (unit) {
    case "hour":
      return evenSteps(HOUR);
    case "day":
      return evenSteps(DAY);
    case "week":
      // The fifth day since the epoch was a Monday.
      return evenSteps(7 * DAY, (3 + weekStart) * DAY);
    case "month":
      return monthSteps(1);
    case "year":
      return monthSteps(12);
  }
}

/**
 * The windows of a unit by the clocks of a zone.
 *
 * @param weekStart The day that weeks begin with: 1 for Monday to 7 for Sunday.
 */
export function calendarOf(clocks: ZoneTime, unit: CalendarUnit, weekStart: number): Calendar {
  const { begin, shortest } = stepsOf(unit, weekStart);
  return remembering(shortest * 1_000, (now) => {
    const second = Math.floor(now / 1_000);
    let shown = begin(clocks(second), 0);
    let start = firstShown(clocks, shown);
    let end = firstShown(clocks, begin(shown, 1));
    // Clocks that stepped back show a window that is already over.
    while (end <= second) {
      shown = begin(shown, 1);
      start = end;
      end = firstShown(clocks, begin(shown, 1));
    }
    return { start: start * 1_000, end: end * 1_000 };
  });
}

/** The first second at which clocks show the moment or a later moment. */
function firstShown(clocks: ZoneTime, moment: number): number {
  const offsetAt = (second: number) => clocks(second) - second;
  const [from, to] = [moment - FARTHEST, moment + FARTHEST];
  const [offset, offsetThen] = [offsetAt(from), offsetAt(to)];
  if (offset === offsetThen) return moment - offset;
  const change = changeBetween(offsetAt, from, to);
  return moment - offset < change ? moment - offset : Math.max(change, moment - offsetThen);
}

/**
 * The first second that no longer has the offset of `from`. The offset of `to` must differ from it.
 */
function changeBetween(
  offsetAt: (second: number) => number,
  from: number,
  to: number,
): number {
  const offset = offsetAt(from);
  let [before, after] = [from, to];
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (offsetAt(middle) === offset) before = middle;
    else after = middle;
  }
  return after;
}

/** How many windows are remembered, because a replay goes through them once for each client. */
const REMEMBERED = 256;

/** The same calendar, which looks a window up only if it is not remembered. */
function remembering(shortest: number, find: Calendar): Calendar {
  const spans: CalendarSpan[] = [];
  let last: CalendarSpan = { start: 0, end: 0 };
  return function spanAt(now) {
    if (now < last.end && now >= last.start) return last;
    const place = Math.floor(now / shortest) % REMEMBERED;
    const known = spans[place];
    last = known !== undefined && now < known.end && now >= known.start ? known : find(now);
    spans[place] = last;
    return last;
  };
}
