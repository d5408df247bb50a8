/*
 * How long stored values are kept.
 */

/** Milliseconds by which a value outlives its use: more than clocks differ and processes stall. */
export const MARGIN = 5_000;
/**
 * Milliseconds that a value may be kept beyond that. While its expiry is within this range it is
 * not set anew, because that costs the server as much as writing the value.
 */
export const LEEWAY = 3_000;
/** The most milliseconds that a value is kept: 139 years, and a server can add its clock to it. */
export const LONGEST: number = 2 ** 42;
