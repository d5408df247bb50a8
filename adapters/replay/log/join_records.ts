/*
 * Records of a CSV that go over several lines, because a quoted field holds line breaks (RFC 4180).
 * The parser reads a record a line, so each line break within quotes becomes a space before.
 */

import { Buffer } from "node:buffer";

const NEWLINE = 10;
const RETURN = 13;
const SPACE = 32;
const QUOTE = 34;
const COMMA = 44;

/** Joins the records of a log's blocks, each of which ends with a line. */
export interface RecordJoiner {
  /** The block with its records joined, without a record that the next block goes on with. */
  join(block: Uint8Array): Uint8Array;
  /** The lines that are left at the end of the log. */
  rest(): Uint8Array;
}

/**
 * Makes a joiner.
 *
 * @param maxLine The most bytes of a record. A quote that is not closed within as many begins no
 * field: it then stands for itself.
 */
export function recordJoiner(maxLine: number): RecordJoiner {
  let held: Uint8Array = new Uint8Array(0);

  /** Joins records; returns where a record begins that is not complete. */
  function joinIn(bytes: Buffer, isEnd: boolean): number {
    for (let at = bytes.indexOf(QUOTE); at !== -1; at = bytes.indexOf(QUOTE, at + 1)) {
      const before = bytes[at - 1];
      if (at > 0 && before !== COMMA && before !== NEWLINE) continue;
      const end = closing(bytes, at + 1);
      if (end === -1 && !isEnd && bytes.length - at <= maxLine) {
        return bytes.lastIndexOf(NEWLINE, at) + 1;
      }
      if (end === -1 || end - at > maxLine) continue;
      for (let each = at; each < end; each++) {
        if (bytes[each] === NEWLINE || bytes[each] === RETURN) bytes[each] = SPACE;
      }
      at = end;
    }
    return bytes.length;
  }

  return {
    join(block) {
      if (held.length === 0 && !mayBreak(block)) return block;
      // A copy, because the block may be the caller's.
      const bytes = Buffer.concat([held, block]);
      const end = joinIn(bytes, false);
      held = bytes.subarray(end);
      return bytes.subarray(0, end);
    },
    rest() {
      const bytes = Buffer.from(held);
      joinIn(bytes, true);
      held = bytes.subarray(0, 0);
      return bytes;
    },
  };
}

/** Whether a line may end within quotes: the quotes up to its end are odd in number. */
function mayBreak(bytes: Uint8Array): boolean {
  const { length } = bytes;
  let isInside = false;
  for (let at = bytes.indexOf(QUOTE); at !== -1 && at < length; at++) {
    const byte = bytes[at]!;
    // Most bytes are letters.
    if (byte > QUOTE) continue;
    if (byte === QUOTE) isInside = !isInside;
    else if (byte === NEWLINE && isInside) return true;
  }
  return isInside;
}

/** The quote that ends a field; -1 if none does. */
function closing(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(QUOTE, from); at !== -1; at = bytes.indexOf(QUOTE, at + 2)) {
    if (bytes[at + 1] !== QUOTE) return at;
  }
  return -1;
}
