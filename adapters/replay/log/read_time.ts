/*
 * The times that logs write, read from bytes. The shape of a time says how to read it:
 *
 *   22/Dec/2016:22:32:31 +0300    the Common Log Format; a fraction may follow the seconds
 *   2016-12-22T19:32:31.250Z      ISO 8601; a space or tab for the T, no zone for UTC
 *   2016/12/22 19:32:31           Go's
 *   1482435151.250                seconds, milliseconds, microseconds or nanoseconds since 1970
 *   29:23:53:25                   EPA's: a day of August 1995, Eastern daylight time
 */

import { LAST_INSTANT } from "../../../core/application_support.ts";

const MONTHS: readonly number[] = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ")
  .map((name) => name.charCodeAt(0) << 16 | name.charCodeAt(1) << 8 | name.charCodeAt(2));
const HOUR = 3_600_000;

/**
 * Reads a time.
 *
 * @returns Whole milliseconds since the Unix epoch; -1 if it is no time, or out of range.
 */
export function readTime(bytes: Uint8Array, from: number, to: number): number {
  const length = to - from;
  if (length >= 20 && bytes[from + 2] === 0x2f) return commonTime(bytes, from, to);
  const fifth = bytes[from + 4];
  if (length >= 19 && (fifth === 0x2d || fifth === 0x2f)) return isoTime(bytes, from, to);
  if (length === 11 && bytes[from + 2] === 0x3a) return dayTime(bytes, from);
  return length > 0 && length <= 32 ? epochTime(bytes, from, to) : -1;
}

/** An instant given by a number: the unit follows from the size. */
export function instantOf(number: number): number {
  // 10^11 s lie in the year 5138, 10^11 ms in 1973: no log is as new or as old.
  const scale = number < 1e11 ? 1_000 : number < 1e14 ? 1 : number < 1e17 ? 1e-3 : 1e-6;
  return inRange(Math.floor(number * scale));
}

function inRange(at: number): number {
  return at >= 0 && at <= LAST_INSTANT ? at : -1;
}

/**
 * The time that was read last, as it is written, and what it is: most lines have the minute of the
 * line before, and many the same second.
 */
const written = new Uint8Array(40);
let writtenBytes = 0;
let minute = NaN;
let instant = -1;

function commonTime(bytes: Uint8Array, from: number, to: number): number {
  const same = sameBytes(bytes, from, to);
  if (same === to - from) return instant;
  if (same < 17) {
    const code = (bytes[from + 3]! << 16 | bytes[from + 4]! << 8 | bytes[from + 5]!) | 0x202020;
    const month = MONTHS.indexOf(code) + 1;
    const date = dateOf(digits(bytes, from + 7, 4), month, digits(bytes, from, 2));
    minute = date + minuteOf(bytes, from + 12);
  }
  return instant = wholeOr(minute + secondOf(bytes, from + 17) + restOf(bytes, from + 20, to));
}

function isoTime(bytes: Uint8Array, from: number, to: number): number {
  const same = sameBytes(bytes, from, to);
  if (same === to - from) return instant;
  if (same < 16) {
    const [month, day] = [digits(bytes, from + 5, 2), digits(bytes, from + 8, 2)];
    minute = dateOf(digits(bytes, from, 4), month, day) + minuteOf(bytes, from + 11);
  }
  return instant = wholeOr(minute + secondOf(bytes, from + 16) + restOf(bytes, from + 19, to));
}

/** How many bytes are as they were written before; not all of them, unless the texts are the same. */
function sameBytes(bytes: Uint8Array, from: number, to: number): number {
  const kept = Math.min(to - from, written.length);
  let same = 0;
  while (same < kept && same < writtenBytes && bytes[from + same] === written[same]) same++;
  if (same === to - from && same === writtenBytes) return same;
  for (let index = same; index < kept; index++) written[index] = bytes[from + index]!;
  writtenBytes = kept === to - from ? kept : 0;
  return Math.min(same, to - from - 1);
}

/** The fraction after the seconds, less the zone, in milliseconds. */
function restOf(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  let thousandths = 0;
  // A comma beyond the end is the separator of a CSV.
  if (at < to && (bytes[at] === 0x2e || bytes[at] === 0x2c)) {
    let unit = 100;
    // Digits beyond the milliseconds are cut off.
    for (at++; at < to && isDigit(bytes[at]!); at++, unit = Math.floor(unit / 10)) {
      thousandths += unit * (bytes[at]! - 0x30);
    }
  }
  if (bytes[at] === 0x20 && at + 4 <= to) at++;
  const isUtc = at >= to || (at === to - 1 && bytes[at] === 0x5a);
  return thousandths - (isUtc ? 0 : zoneOf(bytes, at, to));
}

function dayTime(bytes: Uint8Array, from: number): number {
  const date = dateOf(1995, 8, digits(bytes, from, 2)) + 4 * HOUR;
  return wholeOr(date + minuteOf(bytes, from + 3) + secondOf(bytes, from + 8));
}

function epochTime(bytes: Uint8Array, from: number, to: number): number {
  let number = 0;
  let at = from;
  for (; at < to && isDigit(bytes[at]!); at++) number = number * 10 + bytes[at]! - 0x30;
  if (at === from) return -1;
  let fraction = 0;
  if (bytes[at] === 0x2e) {
    const point = at++;
    for (; at < to && at < point + 10 && isDigit(bytes[at]!); at++) {
      fraction = fraction * 10 + bytes[at]! - 0x30;
    }
    fraction /= 10 ** (at - point - 1);
    while (at < to && isDigit(bytes[at]!)) at++;
  }
  // A fraction of whole digits is added last, because 0.29 * 1,000 is less than 290 in floats.
  if (at !== to) return -1;
  return number < 1e11
    ? inRange(number * 1_000 + Math.floor(fraction * 1e9 / 1e6))
    : instantOf(number);
}

function wholeOr(at: number): number {
  return Number.isNaN(at) ? -1 : inRange(at);
}

/** hh:mm in milliseconds; `NaN` for other text. */
function minuteOf(bytes: Uint8Array, from: number): number {
  const hours = digits(bytes, from, 2);
  const minutes = digits(bytes, from + 3, 2);
  const fits = bytes[from + 2] === 0x3a && hours < 24 && minutes < 60;
  return fits ? (hours * 60 + minutes) * 60_000 : NaN;
}

/** :ss in milliseconds; `NaN` for other text. */
function secondOf(bytes: Uint8Array, from: number): number {
  const seconds = digits(bytes, from + 1, 2);
  return bytes[from] === 0x3a && seconds <= 60 ? seconds * 1_000 : NaN;
}

/** +hhmm, +hh:mm or +hh in milliseconds. */
function zoneOf(bytes: Uint8Array, from: number, to: number): number {
  const sign = bytes[from] === 0x2b ? 1 : bytes[from] === 0x2d ? -1 : NaN;
  const length = to - from;
  const minutes = length === 6 && bytes[from + 3] === 0x3a
    ? digits(bytes, from + 4, 2)
    : length === 5
    ? digits(bytes, from + 3, 2)
    : length === 3
    ? 0
    : NaN;
  return sign * (digits(bytes, from + 1, 2) * HOUR + minutes * 60_000);
}

function digits(bytes: Uint8Array, from: number, count: number): number {
  let number = 0;
  for (let at = from; at < from + count; at++) {
    if (!isDigit(bytes[at]!)) return NaN;
    number = number * 10 + bytes[at]! - 0x30;
  }
  return number;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** The midnight at which a day begins, UTC; `NaN` if there is no such day. */
function dateOf(year: number, month: number, day: number): number {
  const at = new Date(Date.UTC(year, month - 1, day));
  // A day that its month has not rolls over; years below 100 count from 1900.
  return at.getUTCFullYear() === year && at.getUTCDate() === day ? at.getTime() : NaN;
}
