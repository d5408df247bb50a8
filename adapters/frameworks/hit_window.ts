/*
 * The algorithm behind hit stores whose middleware gives a duration with each hit: a fixed window
 * would have the same duration for all hits.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { buildAlgorithm } from "../../core/algorithms/build_algorithm.ts";
import { numbersCodec } from "../../core/arithmetic/numbers_codec.ts";
import { checkInteger, checkRange, LAST_INSTANT } from "../../core/options/checks.ts";

/**
 * The state of a key: its window's first millisecond, the first millisecond after the window, and
 * its hits.
 */
export type HitWindow = readonly [start: number, end: number, hits: number];

const INITIAL: HitWindow = Object.freeze([0, 0, 0] as const);

/** The block with which some middlewares treat a client that goes beyond their limit. */
export interface HitBlock {
  /** The hits that a window holds; the next one begins the block. */
  readonly most: number;
  /** How long the block lasts, in whole milliseconds. The key is fresh afterwards. */
  readonly duration: number;
}

/**
 * A window that the first hit opens, and that a hit with a longer duration extends. No hit shortens
 * it: a duration such as the time until midnight shrinks from hit to hit. A window whose hits were
 * all taken back stays open, because the middlewares' own stores keep it, too.
 *
 * Its id is the same for every duration and block: all of them step the same state. A blocked key is
 * a full window that lasts as long as the block.
 *
 * @param limit The most hits; a positive integer.
 * @param duration How long the window lasts from its first hit, in whole milliseconds.
 * @param block The block that an excess hit begins; without it keys are never blocked.
 * @throws {RangeError} If a duration is out of range.
 */
export function hitWindow(
  limit: number,
  duration: number,
  block?: HitBlock,
): Algorithm<HitWindow> {
  checkDuration("duration", duration);
  if (block !== undefined) checkDuration("blockDuration", block.duration);

  /** The window that a hit at `now` falls in, before the hit is counted. */
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
        const sum = hits + units;
        if (block === undefined || sum <= block.most) {
          return [start, Math.max(end, start + duration), sum];
        }
        const begin = Math.max(now, start);
        return [begin, begin + block.duration, limit];
      },
      giveBack(window, now, units) {
        const [start, end, hits] = window;
        if (now >= end) return INITIAL;
        return hits === 0 ? window : [start, end, Math.max(0, hits - units)];
      },
      free: (window, now) => limit - current(window, now)[2],
      reset: (window, now) => current(window, now)[1] - now,
    },
    codec: numbersCodec("h1", INITIAL, (window) => {
      const [start, end, hits] = window;
      return window.every(Number.isSafeInteger) && start >= 0 && start <= LAST_INSTANT &&
        end > start && hits >= 0 && hits <= limit;
    }),
  });
}

function checkDuration(name: string, duration: number): void {
  checkInteger("count hits", name, duration, 1);
  checkRange("count hits", `2^42 + ${name}`, duration);
}
