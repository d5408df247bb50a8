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
