/*
 * The algorithm behind hit stores whose middleware gives a duration with each hit: a fixed window
 * has one duration for all of them.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { buildAlgorithm } from "../../core/algorithms/build_algorithm.ts";
import { numbersCodec } from "../../core/arithmetic/numbers_codec.ts";
import { checkInteger, checkRange, LAST_INSTANT } from "../../core/options/checks.ts";

/** What is kept of a key: its window's first millisecond, the first one after it, and its hits. */
export type HitWindow = readonly [start: number, end: number, hits: number];

const INITIAL: HitWindow = Object.freeze([0, 0, 0] as const);

/**
 * A window that the first hit opens, and that a hit with a longer duration extends. No hit shortens
 * it: a duration such as the time until midnight shrinks from hit to hit.
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
    now < window[1] ? window : [now, now, 0];

  return buildAlgorithm<HitWindow>({
    name: undefined,
    id: ["hits", limit],
    limit,
    period: duration,
    capacity: limit,
    initial: INITIAL,
    accounting: {
      add(window, now, units) {
        const [start, end, hits] = current(window, now);
        return [start, Math.max(end, start + duration), hits + units];
      },
      giveBack(window, now, units) {
        const [start, end, hits] = current(window, now);
        return units < hits ? [start, end, hits - units] : INITIAL;
      },
      free: (window, now) => limit - current(window, now)[2],
      reset: (window, now) => current(window, now)[1] - now,
    },
    codec: numbersCodec("h1", INITIAL, (window) => {
      const [start, end, hits] = window;
      return window.every(Number.isSafeInteger) && start >= 0 && start <= LAST_INSTANT &&
        end > start && hits >= 1 && hits <= limit;
    }),
  });
}
