import type { Algorithm } from "../../core/algorithm.ts";
import { buildAlgorithm } from "../../core/algorithms/build_algorithm.ts";
import { checkInteger, checkRange, LAST_INSTANT } from "../../core/options/checks.ts";
import type { Codec } from "../../core/codec.ts";

/** What is kept of a key: its window, and the hits in it. */
export interface HitWindow {
  /** The first millisecond. */
  readonly start: number;
  /** The first millisecond after it. */
  readonly end: number;
  readonly hits: number;
}

const INITIAL: HitWindow = Object.freeze({ start: 0, end: 0, hits: 0 });

/**
 * A window that the first hit opens, and that a hit of a longer duration extends. None shortens it,
 * so a duration such as the time until midnight counts each key once.
 *
 * Its id is the same for every duration: all of them step the same state.
 *
 * @param limit The most hits; a positive integer.
 * @param duration For how long the window lasts from its first hit, in whole milliseconds.
 * @throws {RangeError} If the duration is out of range.
 */
export function hitWindow(limit: number, duration: number): Algorithm<HitWindow> {
  checkInteger("count hits", "duration", duration, 1);
  checkRange("count hits", "2^42 + duration", duration);

  /** The window that a hit at `now` falls in, without it. */
  const current = (window: HitWindow, now: number): HitWindow =>
    now < window.end ? window : { start: now, end: now, hits: 0 };

  return buildAlgorithm<HitWindow>({
    name: undefined,
    id: ["hits", limit],
    limit,
    period: duration,
    capacity: limit,
    initial: INITIAL,
    accounting: {
      add(window, now, units) {
        const { start, end, hits } = current(window, now);
        return { start, end: Math.max(end, start + duration), hits: hits + units };
      },
      giveBack(window, now, units) {
        const { start, end, hits } = current(window, now);
        return units < hits ? { start, end, hits: hits - units } : INITIAL;
      },
      free: (window, now) => limit - current(window, now).hits,
      reset: (window, now) => current(window, now).end - now,
    },
    codec: codecOf(limit),
  });
}

const TEXT_REGEXP = /^h1 (0|[1-9]\d{0,15}) ([1-9]\d{0,15}) ([1-9]\d{0,15})$/;

function codecOf(limit: number): Codec<HitWindow> {
  function windowOf(start: number, end: number, hits: number): HitWindow | undefined {
    if (hits === 0) return start === 0 && end === 0 ? INITIAL : undefined;
    const isWindow = [start, end, hits].every(Number.isSafeInteger) &&
      start >= 0 && start <= LAST_INSTANT && end > start && hits >= 1 && hits <= limit;
    return isWindow ? { start, end, hits } : undefined;
  }
  return {
    maxWords: 3,
    write({ start, end, hits }, words, offset) {
      words.set([start, end, hits], offset);
      return 3;
    },
    read: (words, offset, count) =>
      count === 3 ? windowOf(words[offset]!, words[offset + 1]!, words[offset + 2]!) : undefined,
    encode: ({ start, end, hits }) => hits === 0 ? "h1" : `h1 ${start} ${end} ${hits}`,
    decode(text) {
      if (text === "h1") return INITIAL;
      const match = TEXT_REGEXP.exec(text);
      return match === null
        ? undefined
        : windowOf(Number(match[1]), Number(match[2]), Number(match[3]));
    },
  };
}
