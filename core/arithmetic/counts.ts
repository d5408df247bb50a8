/** Whether a value is a count: a whole number of at least 0 that floats hold exactly. */
export function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

/** The most units that a key may have in use, unless its capacity is more. */
const MAX_USE = 1_000_000_000;

/**
 * The most units in use after charges: a billion, or as many as are exact, but never fewer than the
 * capacity. A limit of 0 takes no charges.
 */
export function mostUnits(capacity: number, exact: number): number {
  return capacity === 0 ? 0 : Math.max(capacity, Math.min(MAX_USE, Math.floor(exact)));
}

/** A place in a text that is read. */
export interface TextCursor {
  readonly text: string;
  /** The index of the next letter. */
  at: number;
}

/**
 * Reads a count in its canonical form, and moves past it; `NaN` if there is none. It reads letter
 * by letter for speed, because every state that comes from a server is read in this way.
 */
export function readCount(cursor: TextCursor): number {
  const { text, at: start } = cursor;
  let at = start;
  let count = 0;
  for (; at < text.length; at++) {
    const digit = text.charCodeAt(at) - ZERO;
    if (!(digit >= 0 && digit <= 9)) break;
    count = count * 10 + digit;
  }
  cursor.at = at;
  const digits = at - start;
  const isCanonical = digits === 1 || digits > 1 && text.charCodeAt(start) !== ZERO;
  return isCanonical && isCount(count) ? count : NaN;
}

/** Moves past the next letter, and answers whether it is the given one. */
export function skipLetter(cursor: TextCursor, letter: number): boolean {
  return cursor.text.charCodeAt(cursor.at++) === letter;
}

/**
 * The counts after the first word of a text; `undefined` if the first word is not `head`, or
 * another word is not a count.
 */
export function countsAfter(head: string, text: string): readonly number[] | undefined {
  if (!text.startsWith(head)) return undefined;
  const counts: number[] = [];
  const cursor: TextCursor = { text, at: head.length };
  while (cursor.at < text.length) {
    const count = skipLetter(cursor, SPACE) ? readCount(cursor) : NaN;
    if (Number.isNaN(count)) return undefined;
    counts.push(count);
  }
  return counts;
}

/** A space, as a unit of UTF-16. */
export const SPACE = 32;
const ZERO = 48;

/** Reads a count in its canonical form; `NaN` for any other text. */
export function countOf(text: string | undefined): number {
  return text !== undefined && /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : NaN;
}
