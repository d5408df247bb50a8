/*
 * The use of a window: the window's place, and the units used in it. It is kept as one number,
 * place * most + used, if that is exact (used is 1 to most), and as two numbers otherwise. The
 * place is the window's index where windows lie in a row, or its first millisecond where they do
 * not.
 */

import type { Codec } from "../codec.ts";
import { countsAfter, isCount, mostUnits } from "./counts.ts";
import { wordsCodec } from "./numbers_codec.ts";

/** The use of a window as two numbers, for places and limits too large for one number. */
export interface WideUse {
  /** The window's index, or its first millisecond. */
  readonly place: number;
  /** Units used in it. */
  readonly used: number;
}

/** A representation of use: how it is composed, and how it is taken apart. */
export interface UseForm<Use> {
  /** No use, which is the state of a fresh key. */
  readonly initial: Use;
  /** The most units used. */
  readonly most: number;
  /** The use of 1 to `most` units at a place of at least 0. */
  of(place: number, used: number): Use;
  /** Where the window lies; `-Infinity` without use. */
  place(use: Use): number;
  /** Units used, at the use's place; 0 without use. */
  used(use: Use, place: number): number;
  readonly codec: Codec<Use>;
}

/** One number must hold at least this many times the limit, to leave room for debt. */
const MIN_PACKED = 16;

/**
 * Whether use is kept as one number: the number must have room for enough use at the last place.
 */
export function useFitsOneNumber(limit: number, lastPlace: number): boolean {
  return mostPacked(lastPlace) >= Math.min(mostUnits(limit, 2 ** 53), MIN_PACKED * limit);
}

/** The most units for which one number has room at every place. */
function mostPacked(lastPlace: number): number {
  return Math.floor((2 ** 53 - 1) / (lastPlace + 1));
}

/** The form of one number; exact while (lastPlace + 1) * most is below 2^53. */
export function packedUse(limit: number, lastPlace: number): UseForm<number> {
  const most = Math.min(mostUnits(limit, 2 ** 53), mostPacked(lastPlace));
  const place = (use: number) => use === 0 ? -Infinity : Math.floor((use - 1) / most);
  const used = (use: number, place: number) => use === 0 ? 0 : use - place * most;
  const of = (place: number, used: number) => place * most + used;
  const { encode, decode, isUse } = useText(most, lastPlace);
  return {
    initial: 0,
    most,
    of,
    place,
    used,
    codec: wordsCodec(
      1,
      (use) => [use],
      (use) => use === 0 || isUse(place(use), used(use, place(use))) ? use : undefined,
      (use) => encode(place(use), used(use, place(use))),
      (text) => decode(text, 0, of),
    ),
  };
}

/** The form of two numbers. */
export function wideUse(
  limit: number,
  lastPlace: number,
  most: number = mostUnits(limit, 2 ** 53),
): UseForm<WideUse> {
  const initial: WideUse = Object.freeze({ place: -Infinity, used: 0 });
  const of = (place: number, used: number): WideUse => ({ place, used });
  const { encode, decode, isUse } = useText(most, lastPlace);
  return {
    initial,
    most,
    of,
    place: (use) => use.place,
    used: (use) => use.used,
    codec: {
      maxWords: 2,
      write(use, words, offset) {
        words[offset] = use.place;
        words[offset + 1] = use.used;
        return 2;
      },
      read(words, offset, count) {
        const place = words[offset]!;
        const used = words[offset + 1]!;
        if (count !== 2) return undefined;
        if (place === -Infinity && used === 0) return initial;
        return isUse(place, used) ? { place, used } : undefined;
      },
      encode: (use) => encode(use.place, use.used),
      decode: (text) => decode(text, initial, of),
    },
  };
}

/** Both forms share one text: `f1`, the place and the units used; `f1` alone without use. */
function useText(most: number, lastPlace: number) {
  const isUse = (place: number, used: number) =>
    isCount(place) && place <= lastPlace && isCount(used) && used >= 1 && used <= most;
  return {
    isUse,
    encode: (place: number, used: number) => used === 0 ? "f1" : `f1 ${place} ${used}`,
    decode<Use>(text: string, initial: Use, of: (place: number, used: number) => Use) {
      if (text === "f1") return initial;
      const counts = countsAfter("f1", text);
      if (counts === undefined || counts.length !== 2) return undefined;
      return isUse(counts[0]!, counts[1]!) ? of(counts[0]!, counts[1]!) : undefined;
    },
  };
}
