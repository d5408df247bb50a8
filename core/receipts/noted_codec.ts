/*
 * States with notes as text: `r1`, the ticks that were given back, the number of receipts, each of
 * them, and the text of the algorithm's own state. A receipt is its id, its instant and its units,
 * then a colon and its marks if it is open: `7@60000*5:1,2`.
 */

import { readCount, skipLetter, SPACE, type TextCursor } from "../arithmetic/counts.ts";
import type { Codec } from "../codec.ts";
import { type OpenReceipt, type RememberedReceipts, SETTLED_WIDTH } from "./remembered_receipts.ts";
import { entriesOfBoth, isNoted, MOST_OPEN, MOST_SETTLED, type Noted, withNotes } from "./noted.ts";

/** The beginning of the text of a state with notes. */
const TAG = "r1 ";

/** Whether a text is of a state with notes, or of a state whose parts have notes. */
export function isNotedText(text: string): boolean {
  return text.startsWith(TAG) || text.startsWith("a1 ") && text.includes(`:${TAG}`);
}

/** A codec whose text can hold notes. Its words cannot: see `hasNotes`. */
export function notedCodec<State>(
  codec: Codec<State>,
  marks: number,
): Codec<State | Noted<State>> {
  function encode(state: State | Noted<State>): string {
    if (!isNoted(state)) return codec.encode(state);
    const { back, entries } = state;
    const texts = textsOf(entries);
    // A single `join`, because engines are slow at reading letters of a text that was concatenated
    // in steps.
    return [TAG + back, texts.length, ...texts, codec.encode(state.state)].join(" ");
  }

  function decode(text: string): State | Noted<State> | undefined {
    if (!text.startsWith(TAG)) return codec.decode(text);
    const cursor: TextCursor = { text, at: TAG.length };
    const back = readCount(cursor);
    if (!skipLetter(cursor, SPACE)) return undefined;
    const count = readCount(cursor);
    const entries = skipLetter(cursor, SPACE) ? readEntries(cursor, count, marks) : undefined;
    // A word that is not a count reads as `NaN`.
    if (entries === undefined || !(back + count > 0)) return undefined;
    const state = codec.decode(text.slice(cursor.at));
    return state === undefined ? undefined : withNotes(state, back, entries);
  }

  return { ...codec, encode, decode } as Codec<State | Noted<State>>;
}

/** The texts of receipts, by `until`. */
function textsOf({ open, settled }: RememberedReceipts): string[] {
  const texts: string[] = [];
  let place = 0;
  function addSettled(until: number): void {
    for (; place < settled.length && settled[place]! <= until; place += SETTLED_WIDTH) {
      texts.push(`${settled[place + 1]}@${settled[place]}*${settled[place + 2]}`);
    }
  }
  for (const { id, until, units, marks } of open) {
    addSettled(until);
    texts.push(`${id}@${until}*${units}:${marks.join(",")}`);
  }
  addSettled(Infinity);
  return texts;
}

/**
 * Reads receipts, but only in the order in which they are written, so that a state has a single
 * text; `undefined` for any other text.
 */
function readEntries(
  cursor: TextCursor,
  count: number,
  marks: number,
): RememberedReceipts | undefined {
  const open: OpenReceipt[] = [];
  const settled: number[] = [];
  let [last, lastOpen] = [0, -1];
  for (let left = count; left > 0; left--) {
    const id = readCount(cursor);
    if (!skipLetter(cursor, AT)) return undefined;
    const until = readCount(cursor);
    if (!skipLetter(cursor, STAR)) return undefined;
    const units = readCount(cursor);
    if (!(id + units >= 0 && until >= last)) return undefined;
    last = until;
    if (cursor.text.charCodeAt(cursor.at) === COLON) {
      const own = readMarks(cursor, marks);
      if (own === undefined || open.length === MOST_OPEN) return undefined;
      open.push({ id, until, units, marks: own });
      lastOpen = until;
    } else {
      // Settled receipts come before open receipts of the same instant.
      if (until === lastOpen || settled.length === SETTLED_WIDTH * MOST_SETTLED) return undefined;
      settled.push(until, id, units);
    }
    if (!skipLetter(cursor, SPACE)) return undefined;
  }
  return entriesOfBoth(open, settled);
}

/**
 * Reads the marks of an open receipt, and moves behind them; `undefined` if their number is wrong.
 */
function readMarks(cursor: TextCursor, size: number): number[] | undefined {
  const marks: number[] = [];
  for (let index = 0; index < size; index++) {
    const mark = skipLetter(cursor, index === 0 ? COLON : COMMA) ? readCount(cursor) : NaN;
    if (Number.isNaN(mark)) return undefined;
    marks.push(mark);
  }
  if (size === 0) cursor.at++;
  return marks;
}

/** The letters between numbers, as units of UTF-16. */
const [STAR, COMMA, COLON, AT] = [42, 44, 58, 64];
