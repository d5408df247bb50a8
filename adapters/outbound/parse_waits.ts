/*
 * The ways in which servers write times. Waits are milliseconds from now, at least 0; `undefined`
 * means that the text cannot be read.
 */

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/** The three forms of dates of RFC 9110, 5.6.7. */
const DATE_REGEXPS = [
  /^\w{3}, (?<day>\d{2}) (?<month>\w{3}) (?<year>\d{4}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/,
  /^\w+, (?<day>\d{2})-(?<month>\w{3})-(?<year>\d{2}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/,
  /^\w{3} (?<month>\w{3}) (?<day>[\d ]\d) (?<time>\d{2}:\d{2}:\d{2}) (?<year>\d{4})$/,
];
const DURATION_REGEXP = /^(?=.)(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?$/;
const RFC_3339_REGEXP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/** Numbers from here on are an instant since the Unix epoch in seconds, not a duration of 31 years. */
const EARLIEST_EPOCH = 1e9;
/** From here on an instant is in milliseconds. */
const EARLIEST_EPOCH_MILLISECONDS = 1e11;

/**
 * Reads a time, in any form that servers write it: units to go, an instant in seconds or milliseconds
 * since the epoch (with a fraction too), a duration (`6m0s`), a date in one of the three forms of
 * `Retry-After` (RFC 9110, 10.2.3), or one of RFC 3339.
 *
 * @param unit The milliseconds of a unit, where a number is units to go.
 */
export function parseWait(field: string, now: number, unit: number = 1_000): number | undefined {
  const text = field.trim();
  if (/^\d{1,16}(\.\d{1,9})?$/.test(text)) return waitOf(Number(text), now, unit);
  const duration = DURATION_REGEXP.exec(text);
  if (duration !== null && text.length <= 32) {
    const [hours = 0, minutes = 0, seconds = 0, rest = 0] = duration.slice(1).map((part) =>
      Number(part ?? 0)
    );
    return Math.ceil(((hours * 60 + minutes) * 60 + seconds) * 1000 + rest);
  }
  if (RFC_3339_REGEXP.test(text)) return until(Date.parse(text), now);
  return until(parseHttpDate(text, now), now);
}

/**
 * The wait that a number stands for: units to go, or an instant. No server asks for decades, but some
 * write instants where the field is meant for seconds.
 */
export function waitOf(number: number, now: number, unit: number = 1_000): number {
  if (number >= EARLIEST_EPOCH_MILLISECONDS) return until(number, now)!;
  return number >= EARLIEST_EPOCH ? until(number * 1_000, now)! : Math.ceil(number * unit);
}

function until(instant: number | undefined, now: number): number | undefined {
  if (instant === undefined || Number.isNaN(instant)) return undefined;
  return Math.max(0, Math.ceil(instant - now));
}

/**
 * Reads a date in one of the three forms of RFC 9110, 5.6.7, as milliseconds since the Unix epoch.
 *
 * @param now The time now, for the century of a year of two digits.
 */
export function parseHttpDate(text: string, now: number): number | undefined {
  for (const form of DATE_REGEXPS) {
    const { day, month = "", year, time = "" } = form.exec(text)?.groups ?? {};
    const index = MONTHS.indexOf(month);
    if (year === undefined || index === -1) continue;
    // A leap second is read as the second after it.
    const [hours = 0, minutes = 0, seconds = 0] = time.split(":").map(Number);
    return Date.UTC(fullYear(year, now), index, Number(day), hours, minutes, seconds);
  }
  return undefined;
}

/** A year of two digits that seems to be over 50 years ahead lies in the past (RFC 9110, 5.6.7). */
function fullYear(text: string, now: number): number {
  if (text.length > 2) return Number(text);
  const thisYear = new Date(now).getUTCFullYear();
  const year = thisYear - thisYear % 100 + Number(text);
  return year > thisYear + 50 ? year - 100 : year;
}
