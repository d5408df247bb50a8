/*
 * The words by which a script call tells the script what to do with its keys.
 *
 * Usually all calls have the same formula and cost. One text then holds how often the cost is taken
 * from each key. Otherwise the calls become steps, in their order. A step is a list of numbers: a word
 * and its arguments:
 *
 * | word | arguments | effect |
 * |---|---|---|
 * | TAKE | key, formula, cost, times | takes the cost that many times, until it is refused |
 * | FORGET | key | forgets the key |
 * | SET_INSTANT | instant | decides the next steps at that instant; if it is negative, at the call's own |
 * | TAKE_ALL | count, then each key, formula, cost, dry | takes all costs or none |
 *
 * Keys and formulas are places in their lists, counted from 0.
 */

export const TAKE = 0;
export const FORGET = 1;
export const SET_INSTANT = 2;
export const TAKE_ALL = 3;

/** The character of the digit 0, a space, and the base: numbers below 8,100 have two digits. */
export const ZERO = 32;
export const DIGITS = 90;

/** Encodes numbers as two characters each, because the server reads characters fastest. */
export function encodeCounts(numbers: readonly number[]): string {
  return String.fromCharCode(
    ...numbers.flatMap((each) => [ZERO + Math.floor(each / DIGITS), ZERO + each % DIGITS]),
  );
}
