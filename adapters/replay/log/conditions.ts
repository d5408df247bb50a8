/*
 * Selects requests of a log by conditions such as `path=/api/*` or `status=401`.
 */

import { errorMessage, matchesWildcard, wildcardOf } from "../../../core/application_support.ts";
import type { Condition, Field, PlacedCondition } from "./layout.ts";
import { pathOf } from "./request_fields.ts";

/** The most conditions of a log. */
const MAX_CONDITIONS = 32;

/**
 * Reads conditions: `path=/api/*`, `status!=404`.
 *
 * @throws {TypeError} If one is of another form.
 * @throws {RangeError} If there are too many.
 */
export function readConditions(where: string | readonly string[] = []): readonly Condition[] {
  const texts = [where].flat();
  if (texts.length > MAX_CONDITIONS) {
    const rule = `where must have at most ${MAX_CONDITIONS} conditions`;
    throw new RangeError(errorMessage("read a log", rule, texts.length));
  }
  return texts.map((text) => {
    const match = /^([^=!]+)(!?)=(.*)$/s.exec(text);
    if (match === null) {
      const rule = "where must be like path=/api/* or status!=404";
      throw new TypeError(errorMessage("read a log", rule, text));
    }
    const [, name = "", not, pattern = ""] = match;
    return { text, name: name.trim(), pattern, isNot: not === "!" };
  });
}

/**
 * Makes a test of lines. Conditions on one column are alternatives, those on several columns must
 * all hold, and so must all that say what a value must not be.
 *
 * @param text Reads a field of the line.
 */
export function lineTest(
  conditions: readonly PlacedCondition[],
  text: (field: Field) => string | undefined,
): () => boolean {
  const names = [...new Set(conditions.map(({ name }) => name))];
  const tests = names.map((name) => {
    const own = conditions.filter((condition) => condition.name === name);
    const testsOf = (not: boolean) =>
      own.filter(({ isNot }) => isNot === not).map(({ pattern }) => textTest(pattern));
    return { name, field: own[0]!.field, wanted: testsOf(false), unwanted: testsOf(true) };
  });
  return () =>
    tests.every(({ name, field, wanted, unwanted }) => {
      const value = text(field) ?? "";
      const own = name === "path" ? pathOf(value) : value;
      return (wanted.length === 0 || wanted.some((test) => test(own))) &&
        !unwanted.some((test) => test(own));
    });
}

/** The test of a value, in which `*` stands for any text. */
function textTest(pattern: string): (value: string) => boolean {
  const wildcard = wildcardOf(pattern);
  return wildcard === undefined
    ? (value) => value === pattern
    : (value) => matchesWildcard(wildcard, value);
}
