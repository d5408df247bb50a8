/*
 * Reading lists of structured fields (RFC 9651), as far as the RateLimit fields go: items with
 * parameters, no inner lists. Anything malformed fails the whole field, as the RFC says.
 */

/** The value of an item or a parameter. */
export type BareItem =
  | string
  | number
  | boolean
  | { readonly token: string }
  | { readonly bytes: string }
  | { readonly seconds: number }
  | { readonly display: string };

/** A member of a list. */
export interface ListMember {
  readonly value: BareItem;
  readonly parameters: ReadonlyMap<string, BareItem>;
}

/** A longer field is not read. */
const LONGEST_FIELD = 8_192;

const STRING_REGEXP = /"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"/y;
const NUMBER_REGEXP = /(-?\d{1,15})(?!\d)(?!\.)|(-?\d{1,12}\.\d{1,3})(?![\d.])/y;
const TOKEN_REGEXP = /[A-Za-z*][!#$%&'*+\-.^_`|~:/\w]*/y;
const BYTES_REGEXP = /:((?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}(?:==)?|[A-Za-z\d+/]{3}=?)?):/y;
const DATE_REGEXP = /@(-?\d{1,15})(?![\d.])/y;
const DISPLAY_REGEXP = /%"((?:[\x20\x21\x23\x24\x26-\x7e]|%[\da-f]{2})*)"/y;
const BOOLEAN_REGEXP = /\?([01])/y;
const KEY_REGEXP = /[a-z*][a-z0-9_\-.*]*/y;
const SPACES_REGEXP = / */y;
const BLANKS_REGEXP = /[ \t]*/y;
const COMMA_REGEXP = /,[ \t]*/y;

/**
 * Reads a list.
 *
 * @returns Its members; `undefined` if the field is malformed. Never throws.
 */
export function parseStructuredList(field: string): readonly ListMember[] | undefined {
  if (field.length > LONGEST_FIELD) return undefined;
  const reader = readerOf(withoutSpaces(field));
  const members: ListMember[] = [];
  if (reader.atEnd()) return members;
  do {
    const member = readMember(reader);
    if (member === undefined) return undefined;
    members.push(member);
    reader.take(BLANKS_REGEXP);
    if (reader.atEnd()) return members;
  } while (reader.take(COMMA_REGEXP) !== undefined);
  return undefined;
}

/** The field without spaces around it; not by a pattern, which would take quadratic time. */
function withoutSpaces(field: string): string {
  let start = 0;
  let end = field.length;
  while (field[start] === " ") start++;
  while (end > start && field[end - 1] === " ") end--;
  return field.slice(start, end);
}

interface Reader {
  /** What the pattern matches here, and goes beyond it; `undefined` if it does not. */
  take(pattern: RegExp): RegExpExecArray | undefined;
  atEnd(): boolean;
}

function readerOf(text: string): Reader {
  let place = 0;
  return {
    take(pattern) {
      pattern.lastIndex = place;
      const match = pattern.exec(text);
      if (match === null) return undefined;
      place = pattern.lastIndex;
      return match;
    },
    atEnd: () => place === text.length,
  };
}

function readMember(reader: Reader): ListMember | undefined {
  const value = readItem(reader);
  if (value === undefined) return undefined;
  const parameters = new Map<string, BareItem>();
  while (reader.take(/;/y) !== undefined) {
    reader.take(SPACES_REGEXP);
    const key = reader.take(KEY_REGEXP)?.[0];
    if (key === undefined) return undefined;
    const item = reader.take(/=/y) === undefined ? true : readItem(reader);
    if (item === undefined) return undefined;
    parameters.set(key, item);
  }
  return { value, parameters };
}

/** The kinds of items, and what each makes of its match. */
const ITEMS: readonly (readonly [RegExp, (match: RegExpExecArray) => BareItem | undefined])[] = [
  [STRING_REGEXP, ([, text]) => text!.replaceAll(/\\(.)/g, "$1")],
  [NUMBER_REGEXP, ([number]) => Number(number)],
  [TOKEN_REGEXP, ([token]) => ({ token })],
  [BYTES_REGEXP, ([, bytes]) => ({ bytes: bytes! })],
  [DATE_REGEXP, ([, date]) => ({ seconds: Number(date) })],
  [DISPLAY_REGEXP, ([, display]) => readDisplay(display!)],
  [BOOLEAN_REGEXP, ([, boolean]) => boolean === "1"],
];

function readItem(reader: Reader): BareItem | undefined {
  for (const [pattern, itemOf] of ITEMS) {
    const match = reader.take(pattern);
    if (match !== undefined) return itemOf(match);
  }
  return undefined;
}

/** A string of any characters, whose UTF-8 is percent-encoded where it is not ASCII. */
function readDisplay(encoded: string): BareItem | undefined {
  try {
    return { display: decodeURIComponent(encoded) };
  } catch {
    return undefined;
  }
}
