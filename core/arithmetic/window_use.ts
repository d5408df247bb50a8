/*
 * The use of a window: the window's place, and the units used in it. It is one number,
 * place * most + used, as long as no more units are used than one number has room for at every place;
 * beyond that it is two numbers. How much room there is depends on the places alone, so limiters with
 * different limits read each other's states. The place is the window's index where windows lie in a
 * row, or its first millisecond where they do not.
 */

import type { Codec } from "../codec.ts";
import { countsAfter, isCount } from "./counts.ts";

/** The use of a window, as one number where that is exact. */
export type WindowUse = number | WideUse;

/** The use of a window as two numbers, for more units than fit in one number beside the place. */
export interface WideUse {
  /** The window's index, or its first millisecond. */
  readonly place: number;
  /** Units used in it. */
  readonly used: number;
}

/** How use is composed, and how it is taken apart. */
export interface UseForm {
  /** The use of 1 or more units at a place of at least 0. */
  of(place: number, used: number): WindowUse;
  /** Where the window lies; `-Infinity` without use. */
  place(use: WindowUse): number;
  /** Units used, at the use's place; 0 without use. */
  used(use: WindowUse, place: number): number;
  readonly codec: Codec<WindowUse>;
}

/** No use, which is the state of a fresh key. */
export const NO_USE = 0;

/** The form of use at places up to the last one. */
export function windowUse(lastPlace: number): UseForm {
  /** The most units for which one number has room at every place. */
  const most = Math.floor((2 ** 53 - 1) / (lastPlace + 1));
  const of = (place: number, used: number) => used <= most ? place * most + used : { place, used };
  const isUse = (place: number, used: number) =>
    isCount(place) && place <= lastPlace && isCount(used) && used > 0;

  function place(use: WindowUse): number {
    if (typeof use !== "number") return use.place;
    return use === NO_USE ? -Infinity : Math.floor((use - 1) / most);
  }

  function used(use: WindowUse, place: number): number {
    if (typeof use !== "number") return use.used;
    return use === NO_USE ? 0 : use - place * most;
  }

  return {
    of,
    place,
    used,
    codec: {
      maxWords: 2,
      write(use, words, offset) {
        if (typeof use === "number") {
          words[offset] = use;
          return 1;
        }
        words[offset] = use.place;
        words[offset + 1] = use.used;
        return 2;
      },
      read(words, offset, count) {
        const first = words[offset]!;
        if (count === 1) {
          const at = place(first);
          return first === NO_USE || isUse(at, used(first, at)) ? first : undefined;
        }
        const second = words[offset + 1]!;
        const isWide = count === 2 && second > most && isUse(first, second);
        return isWide ? { place: first, used: second } : undefined;
      },
      encode(use) {
        const at = place(use);
        return use === NO_USE ? "f1" : `f1 ${at} ${used(use, at)}`;
      },
      decode(text) {
        if (text === "f1") return NO_USE;
        const [at = NaN, units = NaN, ...more] = countsAfter("f1", text) ?? [];
        return more.length === 0 && isUse(at, units) ? of(at, units) : undefined;
      },
    },
  };
}
