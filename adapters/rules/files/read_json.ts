/*
 * Reads rules in JSON without the package `yaml`. `JSON.parse` silently drops keys that are
 * written twice, so the keys in the text are counted to find them.
 */

import type { ReadText } from "./read_yaml.ts";

/** Strings in JSON; a colon after one says that it is a key. */
const TEXTS_REGEXP = /"(?:[^"\\]|\\.)*"\s*(:?)/gs;

/**
 * Reads a text as JSON, which needs no package; `undefined` if it is not JSON.
 *
 * @param plain Whether scalars stay text.
 */
export function readJson(text: string, plain: boolean): ReadText | undefined {
  if (!/^\s*[{[]/.test(text)) return undefined;
  let read = 0;
  let data: unknown;
  try {
    data = JSON.parse(text, (_key, value) => {
      if (typeof value !== "object" || value === null) {
        return plain && value !== null ? String(value) : value;
      }
      if (!Array.isArray(value)) read += Object.keys(value).length;
      return value;
    });
  } catch {
    return undefined;
  }
  const written = [...text.matchAll(TEXTS_REGEXP)].filter(([, sign]) => sign === ":").length;
  const errors = read === written ? [] : [{ message: "Map keys must be unique", place: undefined }];
  return { data, errors, placeOf: () => undefined };
}
