/*
 * The words of the script: what it is asked to do with the keys of one script call.
 *
 * Usually all calls have the same formula and cost: then one text holds how often each key is taken.
 * Otherwise the calls become steps in their order. A step is a list of numbers: a word that says what
 * to do, and its arguments:
 *
 * | word | then | what it does |
 * |---|---|---|
 * | TAKE | key, formula, cost, times | takes the cost so many times, until it is refused |
 * | FORGET | key | forgets the key |
 * | SET_INSTANT | instant | what follows is decided at that instant; below 0, at the call's own |
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

/** Numbers as text of two characters each, because the server reads characters fastest. */
export function encodeCounts(numbers: readonly number[]): string {
  return String.fromCharCode(
    ...numbers.flatMap((each) => [ZERO + Math.floor(each / DIGITS), ZERO + each % DIGITS]),
  );
}
