/*
 * The times for which stored values are kept.
 */

/** Milliseconds by which a value outlives its use. Clocks differ, and processes stall, by less. */
export const MARGIN = 5_000;
/**
 * Milliseconds that a value may be kept beyond that. An expiry within this range is not set again,
 * because that costs the server as much as writing the value.
 */
export const LEEWAY = 3_000;
/**
 * The most milliseconds that a value is kept: 139 years, to which a server can still add its clock.
 */
export const LONGEST: number = 2 ** 42;
