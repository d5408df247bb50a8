/*
 * The model of `calendarWindow`: from a list of the instants at which a zone's clocks change. It asks
 * no `Intl`, and knows no instant at which a window ends: two instants are in one window if the
 * latest date that clocks have shown by then is the same.
 */

import type { CalendarUnit } from "../../../core/arithmetic/calendar.ts";
import type { AlgorithmRule } from "./algorithm_rule.ts";
import { floorDivide, larger } from "./whole_numbers.ts";
import type { Counted } from "./window_rules.ts";

/** When the clocks of a zone change, in order: the instant, and the seconds ahead of UTC from then. */
export type ZoneChanges = readonly (readonly [instant: number, offset: number])[];

/** The options of a calendar's rule. */
export interface CalendarWindowRuleOptions {
  /** Units per window. */
  readonly limit: number;
  /** How long windows are. */
  readonly every: CalendarUnit;
  /** A zone that `zoneChanges` knows. */
  readonly zone: string;
  /** The day that weeks begin with, 1 (Monday) to 7; 1 without it. */
  readonly weekStart?: number | undefined;
}

/** The last Sunday of a month, from 0, at one o'clock UTC. */
function lastSunday(year: number, month: number): number {
  const last = new Date(Date.UTC(year, month + 1, 0, 1));
  return last.getTime() - last.getUTCDay() * 86_400_000;
}

/** Central European Time since 1970, by the law of each year. */
function centralEuropean(): ZoneChanges {
  const changes: [number, number][] = [[-Infinity, 3_600]];
  for (let year = 1980; year <= 2111; year++) {
    const summer = year === 1980 ? Date.UTC(1980, 3, 6, 1) : lastSunday(year, 2);
    changes.push([summer, 7_200], [lastSunday(year, year < 1996 ? 8 : 9), 3_600]);
  }
  return changes;
}

/** Zones whose clocks follow a simple rule since 1970. */
export const zoneChanges: Readonly<Record<string, ZoneChanges>> = {
  UTC: [[-Infinity, 0]],
  "Asia/Kolkata": [[-Infinity, 19_800]],
  "Europe/Berlin": centralEuropean(),
};

/** Instants past all that algorithms take are windows of their own. */
const LAST = 2n ** 43n;

/**
 * The calendar window by its definition: at most `limit` units between two instants at which the
 * date (or hour, week, month, year) on a zone's clocks becomes later than it has ever been. An
 * instant before the window that holds units counts as being in it.
 *
 * @param options The limit, and the calendar.
 * @param changes When the zone's clocks change; those that `zoneChanges` knows without it.
 *
 * @example
 * ```ts
 * import { calendarWindowRule, model } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const key = model(calendarWindowRule({ limit: 1, every: "day", zone: "Asia/Kolkata" }));
 * assert.equal(key.decide(0, 1).resetAfter, 18.5 * 3_600_000); // it is 5:30 there
 * ```
 */
export function calendarWindowRule(
  { limit, every, zone, weekStart = 1 }: CalendarWindowRuleOptions,
  changes: ZoneChanges = zoneChanges[zone]!,
): AlgorithmRule<Counted> {
  function windowOf(now: bigint): bigint {
    return now > LAST ? now : numberOf(every, latestShown(changes, Number(now)), weekStart);
  }
  function unitsAt(use: Counted | undefined, now: bigint): bigint {
    return use !== undefined && windowOf(now) <= use.start ? use.units : 0n;
  }
  return {
    capacity: BigInt(limit),
    limit: () => limit,
    admits: (use, now, cost) => unitsAt(use, now) + cost <= BigInt(limit),
    after(use, now, cost) {
      const units = unitsAt(use, now) + cost;
      const window = windowOf(now);
      return units > 0n ? { start: larger(window, use?.start ?? window), units } : undefined;
    },
    fresh: (use, now) => unitsAt(use, now) === 0n,
  };
}

/** The latest time that clocks have shown by an instant, in milliseconds as if the zone were UTC. */
function latestShown(changes: ZoneChanges, now: number): number {
  let index = changes.length - 1;
  while (changes[index]![0] > now) index--;
  const [changed, offset] = changes[index]!;
  const before = changes[index - 1]?.[1] ?? offset;
  return Math.max(now + offset * 1_000, changed - 1 + before * 1_000);
}

/** The number of the window that a time falls in. */
function numberOf(every: CalendarUnit, shown: number, weekStart: number): bigint {
  const date = new Date(shown);
  const months = date.getUTCFullYear() * 12 + date.getUTCMonth();
  if (every === "month") return BigInt(months);
  if (every === "year") return BigInt(date.getUTCFullYear());
  const hours = floorDivide(BigInt(shown), 3_600_000n);
  if (every === "hour") return hours;
  const days = floorDivide(hours, 24n);
  // The epoch was a Thursday.
  return every === "day" ? days : floorDivide(days - BigInt(weekStart) + 4n, 7n);
}
