/*
 * How long stored values are kept.
 */

/** Milliseconds by which a value outlives its use: more than clocks differ and processes stall. */
export const MARGIN = 5_000;
/**
 * It may be kept for so many milliseconds more: its expiry is left as it is while in this range, as to
 * set it anew costs the server as much as to write the value.
 */
export const LEEWAY = 3_000;
/** The most milliseconds that a value is kept: 139 years, and a server can add its clock to it. */
export const LONGEST: number = 2 ** 42;
