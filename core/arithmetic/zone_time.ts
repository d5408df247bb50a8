/*
 * The wall clock of a time zone, in seconds. No other file of core uses `Intl`. Zones change their
 * offsets on whole seconds, so seconds are exact.
 */

import { suggestZones } from "../options/suggest_zone.ts";
import { formatValue, rangeError, typeError } from "../options/checks.ts";

/** Seconds that clocks show, counted as if the zone were UTC, at so many seconds since the epoch. */
export type ZoneTime = (second: number) => number;

/** Admits names only: older engines do not know offsets such as `+05:30`. */
const ZONE_REGEXP = /^[a-z][a-z0-9_+/-]{0,63}$/i;

/**
 * The clocks of a zone.
 *
 * @throws {TypeError} If the zone is not text.
 * @throws {RangeError} If the zone is unknown; the message names the nearest known zones.
 */
export function zoneTime(action: string, zone: string): ZoneTime {
  const format = formatOf(action, zone);
  return function shown(second) {
    const fields = { year: 0, month: 1, day: 1, hour: 0, minute: 0, second: 0 };
    for (const { type, value } of format.formatToParts(second * 1_000)) {
      if (type in fields) fields[type as keyof typeof fields] = Number(value);
    }
    const { year, month, day, hour, minute } = fields;
    return Date.UTC(year, month - 1, day, hour, minute, fields.second) / 1_000;
  };
}

function formatOf(action: string, zone: string): Intl.DateTimeFormat {
  const rule = 'zone must be the name of an IANA time zone, such as "Europe/Berlin"';
  if (typeof zone !== "string") throw typeError(action, rule, zone);
  const format = ZONE_REGEXP.test(zone) ? knownFormat(zone) : undefined;
  if (format !== undefined) return format;
  const near = suggestZones(zone);
  if (near.length === 0) throw rangeError(action, rule, zone);
  throw new RangeError(
    `Cannot ${action} because there is no time zone ${formatValue(zone)}: did you mean ${
      near.join(" or ")
    }?`,
  );
}

function knownFormat(timeZone: string): Intl.DateTimeFormat | undefined {
  const numeric = "numeric";
  try {
    return new Intl.DateTimeFormat("en-US-u-ca-gregory-nu-latn", {
      timeZone,
      hourCycle: "h23",
      year: numeric,
      month: numeric,
      day: numeric,
      hour: numeric,
      minute: numeric,
      second: numeric,
    });
  } catch {
    return undefined;
  }
}
