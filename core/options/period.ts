/*
 * Periods as callers write them, such as 500 or "10s", and as whole milliseconds.
 */

import { checkMilliseconds, LAST_INSTANT, rangeError, typeError } from "./checks.ts";

/**
 * The zeros after the first digit, up to the longest period, 2^42 ms. They have a type of their own
 * because TypeScript accepts no bigint that begins with a zero.
 */
export type LeadingZeros =
  | ""
  | "0"
  | "00"
  | "000"
  | "0000"
  | "00000"
  | "000000"
  | "0000000"
  | "00000000"
  | "000000000"
  | "0000000000"
  | "00000000000";

/** A period: whole milliseconds, or a whole number with a unit, such as `"10s"`. */
export type Period =
  | number
  | `${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9}${"" | `${LeadingZeros}${bigint}`}${
    | "ms"
    | "s"
    | "m"
    | "h"
    | "d"}`;

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/**
 * Reads a period as whole milliseconds.
 *
 * @param action The action, for the error: `create gcra`.
 * @param option The option's name, for the error: `period`.
 * @param value Milliseconds, or text such as `"500ms"`, `"10s"`, `"1m"`, `"1h"`, `"1d"`.
 * @returns Whole milliseconds, 1 to 2^42.
 * @throws {TypeError} If it is neither a number nor text.
 * @throws {RangeError} If it is not a whole number of milliseconds in that range, or the unit is
 * not ms, s, m, h or d.
 */
export function readPeriod(action: string, option: string, value: Period): number {
  const rule =
    `${option} must be whole milliseconds from 1 to 2^42, or text such as "500ms", "10s", "1m", "1h", "1d"`;
  if (typeof value !== "number" && typeof value !== "string") {
    throw typeError(action, rule, value);
  }
  const milliseconds = typeof value === "number" ? value : fromText(value);
  if (!Number.isSafeInteger(milliseconds) || milliseconds < 1 || milliseconds > LAST_INSTANT) {
    throw rangeError(action, rule, value);
  }
  return milliseconds;
}

/**
 * Reads the longest time that a caller waits: milliseconds of at least 0, fractions and `Infinity`
 * included, or text such as `"1s"`.
 */
export function readLongestWait(action: string, option: string, value: Period): number {
  if (typeof value === "string") return readPeriod(action, option, value);
  checkMilliseconds(action, option, value, { infinite: true });
  return value;
}

function fromText(text: string): number {
  const match = /^(\d{1,15})(ms|s|m|h|d)$/.exec(text);
  return match === null ? NaN : Number(match[1]) * UNITS[match[2]!]!;
}

/** Whole milliseconds as callers write them, in the largest unit that fits: `"10m"`. */
export function periodText(milliseconds: number): Period {
  const [unit, length] = Object.entries(UNITS).findLast(([, each]) => milliseconds % each === 0)!;
  return `${milliseconds / length}${unit}` as Period;
}

/** About how long, as people say it: `20 s`, `1.5 h`. */
export function durationText(milliseconds: number): string {
  if (milliseconds === Infinity) return "forever";
  const [unit, length] = Object.entries(UNITS).findLast(([, each]) => milliseconds >= each) ??
    ["ms", 1];
  return `${Math.round(milliseconds / length * 10) / 10} ${unit === "m" ? "min" : unit}`;
}
