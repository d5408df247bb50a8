/*
 * The state of a key with open receipts, and its codec.
 *
 * Words and text of states with open receipts; a state without them is written as the algorithm inside
 * writes it. Both forms list the id, the number of receipts issued, and for each run the receipts
 * between it and the run before, its length, how much later it ends, and its lags (one more than the
 * ticks; 0 for a newest call).
 *
 *   text    `r1`, id, issued, how many numbers follow, these numbers, and the text of the state inside
 *   words   the words of the state inside, padded to their largest number, then how many they are, and
 *           the numbers
 */

import { isCount, readCount, skipLetter, SPACE, type TextCursor } from "../arithmetic/counts.ts";
import { NO_CALL_SINCE } from "../arithmetic/returns.ts";
import type { Codec } from "../codec.ts";
import { MOST_RUNS, type OpenReceipts } from "./open_receipts.ts";

/** The state of a key with open receipts. */
export interface OpenState<State = unknown> {
  /** The state of the algorithm inside. */
  readonly inner: State;
  /** The random number of this list of receipts, which tells it from others of the key. */
  readonly id: number;
  /** How many receipts the list has numbered. */
  readonly issued: number;
  /** The receipts that are open. */
  readonly open: OpenReceipts;
}

/**
 * The same as a class, because every call on a reservable key asks whether a state of any shape is
 * one, and engines answer that fast by comparing prototypes.
 */
class Opened implements OpenState {
  readonly inner: unknown;
  readonly id: number;
  readonly issued: number;
  readonly open: OpenReceipts;

  constructor(inner: unknown, id: number, issued: number, open: OpenReceipts) {
    this.inner = inner;
    this.id = id;
    this.issued = issued;
    this.open = open;
  }
}

/** A state with open receipts. */
export function openState(
  inner: unknown,
  id: number,
  issued: number,
  open: OpenReceipts,
): OpenState {
  return new Opened(inner, id, issued, open);
}

/** Whether a state has open receipts. */
export function isOpenState(state: unknown): state is OpenState {
  return state instanceof Opened;
}

const HEAD = "r1 ";

/** The codec of states with open receipts and without. */
export function openStateCodec(inner: Codec<unknown>, width: number): Codec<unknown> {
  const { maxWords: most } = inner;
  return {
    maxWords: most + 3 + width * MOST_RUNS,
    write(state, words, offset) {
      if (!isOpenState(state)) return inner.write(state, words, offset);
      const count = inner.write(state.inner, words, offset);
      words.fill(0, offset + count, offset + most);
      const numbers = numbersOf(state, width);
      words[offset + most] = count;
      words.set(numbers, offset + most + 1);
      return most + 1 + numbers.length;
    },
    read(words, offset, count) {
      if (count <= most) return inner.read(words, offset, count);
      const own = words[offset + most]!;
      if (!(own >= 0 && own <= most)) return undefined;
      const held = inner.read(words, offset, own);
      const numbers = Array.from(words.subarray(offset + most + 1, offset + count));
      return held === undefined ? undefined : stateOf(held, numbers, width);
    },
    encode(state) {
      if (!isOpenState(state)) return inner.encode(state);
      const numbers = numbersOf(state, width);
      return `${HEAD}${numbers.length} ${numbers.join(" ")} ${inner.encode(state.inner)}`;
    },
    decode(text) {
      if (!text.startsWith(HEAD)) return inner.decode(text);
      const cursor: TextCursor = { text, at: HEAD.length };
      const numbers = readNumbers(cursor, 2 + width * MOST_RUNS);
      if (numbers === undefined) return undefined;
      const held = inner.decode(text.slice(cursor.at));
      return held === undefined ? undefined : stateOf(held, numbers, width);
    },
  };
}

/** Reads a count, that many numbers, and a space after each. */
function readNumbers(cursor: TextCursor, most: number): number[] | undefined {
  const count = readCount(cursor);
  if (!(count <= most) || !skipLetter(cursor, SPACE)) return undefined;
  const numbers: number[] = [];
  for (let index = 0; index < count; index++) {
    numbers.push(readCount(cursor));
    if (!skipLetter(cursor, SPACE)) return undefined;
  }
  return numbers;
}

function numbersOf({ id, issued, open }: OpenState, width: number): number[] {
  const numbers = [id, issued];
  let last = 0;
  let end = 0;
  for (let at = 0; at < open.length; at += width) {
    const [from, to, until] = [open[at]!, open[at + 1]!, open[at + 2]!];
    numbers.push(from - last, to - from, until - end);
    for (let lag = at + 3; lag < at + width; lag++) {
      numbers.push(open[lag] === NO_CALL_SINCE ? 0 : open[lag]! + 1);
    }
    last = to;
    end = until;
  }
  return numbers;
}

/** The state of numbers; `undefined` if no call can have led to it. */
function stateOf(
  inner: unknown,
  numbers: readonly number[],
  width: number,
): OpenState | undefined {
  const [id = 0, issued = 0, ...runs] = numbers;
  const isValid = numbers.every(isCount) && id > 0 && runs.length > 0 &&
    runs.length <= width * MOST_RUNS && runs.length % width === 0;
  if (!isValid) return undefined;
  const open: number[] = [];
  let last = 0;
  let end = 0;
  for (let at = 0; at < runs.length; at += width) {
    const from = last + runs[at]!;
    last = from + runs[at + 1]!;
    end += runs[at + 2]!;
    if (last === from) return undefined;
    open.push(from, last, end);
    for (let lag = at + 3; lag < at + width; lag++) {
      open.push(runs[lag] === 0 ? NO_CALL_SINCE : runs[lag]! - 1);
    }
  }
  return last <= issued && isCount(end) ? openState(inner, id, issued, open) : undefined;
}
