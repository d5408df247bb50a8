/** The options that the rules of rates share; durations in whole milliseconds. */
export interface RateRuleOptions {
  /** Units per period in the long run. */
  readonly limit: number;
  /** The period in whole milliseconds. */
  readonly period: number;
  /** Units that a fresh key admits at one instant; the limit without it. */
  readonly burst?: number | undefined;
  /** The most units beyond the capacity that a key may owe, which bounds refunds; default none. */
  readonly maxDebt?: number | undefined;
}

/** Units that may be given back: no more than can be in use. */
export function returnable(units: bigint, capacity: bigint, maxDebt: number | undefined): bigint {
  return maxDebt === undefined ? units : smaller(units, capacity + BigInt(maxDebt));
}

/** The larger of two. */
export function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

/** The smaller of two. */
export function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

/** The quotient rounded up; the divisor is positive. */
export function ceilDivide(dividend: bigint, divisor: bigint): bigint {
  return -floorDivide(-dividend, divisor);
}

/** The quotient rounded down; the divisor is positive. */
export function floorDivide(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor;
  return quotient * divisor > dividend ? quotient - 1n : quotient;
}
