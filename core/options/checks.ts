/*
 * The checks of options and arguments. A bad value throws an error that says what could not be
 * done, what is required and what was given.
 */

import { isPromise } from "../maybe_promise.ts";

/** The last instant that reducers take: 2^42 ms after the Unix epoch, in the year 2109. */
export const LAST_INSTANT: number = 2 ** 42;

/** A value as an error message shows it: short, and safe to print. */
export function formatValue(value: unknown): string {
  const kind = typeof value;
  if (typeof value === "string") {
    return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}...` : value);
  }
  if (Array.isArray(value)) return value.length === 0 ? "an empty array" : "an array";
  if (kind === "object" && value !== null) return isPromise(value) ? "a promise" : "an object";
  if (kind === "function" || kind === "symbol") return `a ${kind}`;
  return kind === "bigint" ? `${value}n` : String(value);
}

/** The error's text: `Cannot create gcra as burst must be a positive integer: current value is 0`. */
export function errorMessage(action: string, rule: string, value: unknown): string {
  return `Cannot ${action} as ${rule}: current value is ${formatValue(value)}`;
}

/** The error of an argument of the wrong type. */
export function typeError(action: string, rule: string, value: unknown): TypeError {
  return new TypeError(errorMessage(action, rule, value));
}

/** The error of an argument that is out of range. */
export function rangeError(action: string, rule: string, value: unknown): RangeError {
  return new RangeError(errorMessage(action, rule, value));
}

/** Requires a whole number that floats hold exactly, from `least` to `most`. */
export function checkInteger(
  action: string,
  option: string,
  value: unknown,
  least: number,
  most: number = Number.MAX_SAFE_INTEGER,
): asserts value is number {
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) {
    return;
  }
  const kind = most < Number.MAX_SAFE_INTEGER
    ? `an integer from ${least} to ${most}`
    : least === 1
    ? "a positive integer"
    : `an integer of at least ${least}`;
  const rule = `${option} must be ${kind}`;
  throw (typeof value === "number" ? rangeError : typeError)(action, rule, value);
}

/** Requires one of a few values. */
export function checkChoice<Choice extends string>(
  action: string,
  option: string,
  value: unknown,
  choices: readonly Choice[],
): asserts value is Choice {
  if (choices.includes(value as Choice)) return;
  const shown = choices.map((choice) => JSON.stringify(choice));
  const last = shown.pop();
  const rule = `${option} must be ${shown.length === 0 ? last : `${shown.join(", ")} or ${last}`}`;
  throw typeError(action, rule, value);
}

/** Requires milliseconds of at least 0, fractions included. */
export function checkMilliseconds(
  action: string,
  option: string,
  value: unknown,
  { infinite = false }: { readonly infinite?: boolean } = {},
): asserts value is number {
  if (typeof value === "number" && value >= 0 && (infinite || value < Infinity)) return;
  const rule = `${option} must be a number of milliseconds, at least 0${
    infinite ? ", or Infinity" : ""
  }`;
  throw rangeError(action, rule, value);
}

/** Requires a string that is not empty. */
export function checkText(
  action: string,
  option: string,
  value: unknown,
): asserts value is string {
  if (typeof value !== "string" || value === "") {
    throw typeError(action, `${option} must be a non-empty string`, value);
  }
}

/** Requires a function. */
export function checkFunction(action: string, option: string, value: unknown): void {
  if (typeof value === "function") return;
  throw typeError(action, `${option} must be a function`, value);
}

/** Checks an option that is given. */
export type OptionCheck = (action: string, option: string, value: unknown) => void;

/** The check of a whole number in a range. */
export function integerFrom(least: number, most?: number): OptionCheck {
  return (action, option, value) => checkInteger(action, option, value, least, most);
}

/** The check of one of several texts. */
export function oneOf(...choices: readonly string[]): OptionCheck {
  return (action, option, value) => checkChoice(action, option, value, choices);
}

/** Requires a boolean. */
export function checkBoolean(action: string, option: string, value: unknown): void {
  if (typeof value === "boolean") return;
  throw typeError(action, `${option} must be true or false`, value);
}

/** The names of options, with their checks. The compiler ensures that no name is missing. */
export type OptionNames<Options> = { readonly [Name in keyof Options]-?: true | OptionCheck };

/**
 * Requires options to be an object, and each given option to be known and to pass its check.
 *
 * @throws {TypeError} The error names the unknown option, and lists the known ones.
 */
export function checkOptions<Options>(
  action: string,
  options: unknown,
  known: OptionNames<Options>,
): void {
  if (typeof options !== "object" || options === null) {
    throw typeError(action, "its options must be an object", options);
  }
  const given = options as Partial<Options>;
  // Some options are checked at every call, which lists of names would slow down.
  for (const name in given) {
    if (Object.hasOwn(known, name) || given[name] === undefined) continue;
    if (!Object.hasOwn(options, name)) continue;
    const all = Object.keys(known).join(", ");
    const there = `there is no option ${formatValue(name)}: its options are ${all}`;
    throw new TypeError(`Cannot ${action} because ${there}`);
  }
  for (const name in known) {
    const check: true | OptionCheck = known[name];
    if (check !== true && given[name] !== undefined) check(action, name, given[name]);
  }
}

/** Requires a store. A function that makes stores is not a store. */
export function checkStore(action: string, option: string, store: unknown): void {
  const { open, run } = (store ?? {}) as { readonly open?: unknown; readonly run?: unknown };
  if (typeof open === "function" && typeof run === "function") return;
  throw typeError(action, `${option} must be a store, such as memoryStore()`, store);
}

/**
 * Requires a product that must stay exact in a float to be below 2^53.
 *
 * @param formula The product as the documentation writes it.
 */
export function checkExact(action: string, formula: string, product: number): void {
  if (!(product < 2 ** 53)) {
    throw rangeError(action, `${formula} must be below 2^53 to be exact`, product);
  }
}

/**
 * Requires that a state reaches no further into the future than floats hold milliseconds exactly.
 *
 * @param formula The furthest instant as the documentation writes it.
 * @param furthest Milliseconds from now to that instant.
 */
export function checkRange(action: string, formula: string, furthest: number): void {
  checkExact(action, formula, LAST_INSTANT + Math.ceil(furthest));
}

/** Requires an instant, and floors it to a whole millisecond. */
export function checkNow(now: number): number {
  if (typeof now !== "number" || !(now >= 0 && now <= LAST_INSTANT)) {
    throw rangeError("decide", "now must be milliseconds from 0 to 2^42 since the Unix epoch", now);
  }
  return Math.floor(now) + 0; // never -0
}

/** Requires a cost: a whole number of at least `least`. Without `least` it may be negative. */
export function checkCost(action: string, cost: number, least: number = -Infinity): void {
  if (Number.isSafeInteger(cost) && cost >= least) return;
  const range = least === -Infinity ? "" : ` of at least ${least}`;
  const rule = `cost must be an integer${range} and at most 2^53 - 1`;
  throw (typeof cost === "number" ? rangeError : typeError)(action, rule, cost);
}

/** The greatest common divisor of two positive integers, by Euclid. */
export function greatestCommonDivisor(a: number, b: number): number {
  while (b !== 0) [a, b] = [b, a % b];
  return a;
}
