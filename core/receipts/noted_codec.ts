/*
 * States with notes as text: `r1`, the ticks that were given back, the number of receipts, each of
 * them, and the text of the algorithm's own state. A receipt is its id, its instant and its units,
 * then a colon and its marks if it is open: `7@60000*5:1,2`.
 */

import { countOf } from "../arithmetic/counts.ts";
import type { Codec } from "../codec.ts";
import { type OpenReceipt, type RememberedReceipts, SETTLED_WIDTH } from "./remembered_receipts.ts";
import {
  entriesOfBoth,
  isNoted,
  MOST_OPEN,
  MOST_SETTLED,
  NO_ENTRIES,
  type Noted,
  withNotes,
} from "./noted.ts";

/** The beginning of the text of a state with notes. */
const TAG = "r1 ";

/** Whether a text is that of a state with notes, or of one whose parts have notes. */
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
    return `${TAG}${[back, texts.length, ...texts].join(" ")} ${codec.encode(state.state)}`;
  }

  function decode(text: string): State | Noted<State> | undefined {
    if (!text.startsWith(TAG)) return codec.decode(text);
    const [, back = "", count = ""] = text.split(" ", 3);
    const open: OpenReceipt[] = [];
    const settled: number[] = [];
    let last = 0;
    let at = TAG.length + back.length + count.length + 2;
    for (let left = countOf(count); left > 0; left--) {
      const end = text.indexOf(" ", at);
      const entry = end < 0 ? undefined : entryOf(text.slice(at, end), marks);
      if (entry === undefined || entry.until < last) return undefined;
      last = entry.until;
      const { id, until, units, marks: own } = entry;
      if (own === undefined) settled.push(until, id, units);
      else open.push({ id, until, units, marks: own });
      const isTooMany = open.length > MOST_OPEN || settled.length > SETTLED_WIDTH * MOST_SETTLED;
      if (isTooMany) return undefined;
      at = end + 1;
    }
    const state = codec.decode(text.slice(at));
    if (state === undefined || !(countOf(back) >= 0)) return undefined;
    const read = withNotes(state, countOf(back), entriesOfBoth(open, settled));
    const isEmpty = read.back === 0 && read.entries === NO_ENTRIES;
    return !isEmpty && encode(read) === text ? read : undefined;
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

function entryOf(text: string, size: number) {
  const [own = "", listed] = text.split(":");
  const [id = NaN, until = NaN, units = NaN] = own.split(/[@*]/).map(countOf);
  const marks = listed === undefined
    ? undefined
    : listed === ""
    ? []
    : listed.split(",").map(countOf);
  const isEntry = [id, until, units, ...(marks ?? [])].every((number) => number >= 0);
  const isSized = marks === undefined || marks.length === size;
  return isEntry && isSized ? { id, until, units, marks } : undefined;
}
