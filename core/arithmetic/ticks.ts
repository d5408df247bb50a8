/*
 * Instants finer than a millisecond, exactly.
 *
 * An emission interval is period / limit ms. This is seldom a whole number, and floats round it:
 * limit 14, period 884,090 ms, burst 40 admits 39 in float milliseconds. With g = gcd(limit,
 * period), everything is whole if counted in ticks of 1 / (limit / g) ms: a millisecond is limit /
 * g ticks and an emission interval period / g. An instant is then
 *
 *   one number    ticks since the epoch, while limit / g * 2^42 + burst * period / g < 2^53;
 *   two numbers   whole milliseconds and the ticks beyond them, while burst * period / g < 2^53.
 *
 * Both forms have the same four functions, so one reducer serves both. A clock may also move in
 * steps: for a bucket that is refilled by `limit` at each multiple of the period, a tick is a unit,
 * and the clock stands still in between and then jumps by `limit` ticks.
 *
 * Dividing whole numbers below 2^53 and rounding the quotient up or down is exact in floats: a
 * quotient that is not whole differs from a whole number by at least 1 / divisor, more than half
 * a unit in its last place.
 */

import type { Codec } from "../codec.ts";
import { countsAfter, isCount } from "./counts.ts";
import { wordsCodec } from "./numbers_codec.ts";
import { LAST_INSTANT } from "../options/checks.ts";

/** A scale of instants. `ticks` are whole and at least 0. */
export interface Ticks<Instant> {
  /** The instant of a fresh key, which is earlier than any `now`. */
  readonly initial: Instant;
  /** How many ticks an instant may lie ahead of any now and still be exact. */
  readonly furthest: number;
  /**
   * How many ticks `at` lies ahead of `now`: 0 if `at` has come; inexact, but above 2^53, if `at`
   * is far ahead.
   */
  ahead(at: Instant, now: number): number;
  /** The first whole millisecond at which the instant `ticks` before `at` has come. */
  due(at: Instant, ticks: number): number;
  /** The instant `ticks` after the later of `at` and `now`. */
  later(at: Instant, now: number, ticks: number): Instant;
  /** The instant `ticks` before `at`. */
  earlier(at: Instant, ticks: number): Instant;
  /** The codec of instants. */
  readonly codec: Codec<Instant>;
}

/** Whole milliseconds and the remaining ticks, which are less than a millisecond. */
export interface FineInstant {
  /** Whole milliseconds since the Unix epoch. */
  readonly millisecond: number;
  /** Ticks beyond them. */
  readonly ticks: number;
}

/**
 * The most milliseconds that an instant may lie ahead. It is well below 2^53, because it is part of
 * sums.
 */
const FURTHEST = 2 ** 52;

/**
 * Instants as one number: ticks since the epoch, on a clock that moves by `perStep` ticks at each
 * multiple of `step` ms.
 */
export function wholeTicks(perStep: number, step = 1): Ticks<number> {
  const last = Math.ceil(LAST_INSTANT / step) * perStep;
  return {
    initial: 0,
    furthest: Math.min(2 ** 53 - 1 - last, Math.floor(FURTHEST / step) * perStep),
    ahead(at, now) {
      const ticks = at - Math.floor(now / step) * perStep;
      return ticks > 0 ? ticks : 0;
    },
    due: (at, ticks) => Math.ceil((at - ticks) / perStep) * step,
    later(at, now, ticks) {
      const instant = Math.floor(now / step) * perStep;
      return (at > instant ? at : instant) + ticks;
    },
    earlier: (at, ticks) => at - ticks,
    codec: numberCodec(perStep, step),
  };
}

/** Instants as two numbers, for scales too fine for one. */
export function fineTicks(perMillisecond: number): Ticks<FineInstant> {
  const initial: FineInstant = Object.freeze({ millisecond: 0, ticks: 0 });
  return {
    initial,
    furthest: Math.min(2 ** 53 - 1, FURTHEST * perMillisecond),
    ahead(at, now) {
      const ticks = (at.millisecond - now) * perMillisecond + at.ticks;
      return ticks > 0 ? ticks : 0;
    },
    due: (at, ticks) => at.millisecond + Math.ceil((at.ticks - ticks) / perMillisecond),
    later(at, now, ticks) {
      const whole = Math.floor(ticks / perMillisecond);
      const rest = ticks - whole * perMillisecond;
      const [millisecond, beyond] = at.millisecond >= now ? [at.millisecond, at.ticks] : [now, 0];
      // The comparison comes before the addition, because the sum of two numbers below 2^53 may be
      // above 2^53.
      return beyond >= perMillisecond - rest
        ? { millisecond: millisecond + whole + 1, ticks: beyond - (perMillisecond - rest) }
        : { millisecond: millisecond + whole, ticks: beyond + rest };
    },
    earlier(at, ticks) {
      const whole = Math.floor(ticks / perMillisecond);
      const rest = ticks - whole * perMillisecond;
      return at.ticks >= rest
        ? { millisecond: at.millisecond - whole, ticks: at.ticks - rest }
        : { millisecond: at.millisecond - whole - 1, ticks: at.ticks + (perMillisecond - rest) };
    },
    codec: fineCodec(initial, perMillisecond),
  };
}

/*
 * Both scales share one text: `t1`, the millisecond, and the ticks beyond it if there are any.
 */

function encode(millisecond: number, ticks: number): string {
  return ticks === 0 ? `t1 ${millisecond}` : `t1 ${millisecond} ${ticks}`;
}

function decode(text: string): readonly [millisecond: number, ticks: number] | undefined {
  const counts = countsAfter("t1", text);
  if (counts === undefined) return undefined;
  if (counts.length === 1) return [counts[0]!, 0];
  return counts.length === 2 && counts[1] !== 0 ? [counts[0]!, counts[1]!] : undefined;
}

function numberCodec(perStep: number, step: number): Codec<number> {
  const instantOf = (at: number) => isCount(at) ? at : undefined;
  return wordsCodec(
    1,
    (at) => [at],
    instantOf,
    (at) => {
      const steps = Math.floor(at / perStep);
      return encode(steps * step, at - steps * perStep);
    },
    (text) => {
      const instant = decode(text);
      if (instant === undefined) return undefined;
      const [millisecond, ticks] = instant;
      if (millisecond % step !== 0 || !(ticks < perStep)) return undefined;
      return instantOf(millisecond / step * perStep + ticks);
    },
  );
}

function fineCodec(initial: FineInstant, perMillisecond: number): Codec<FineInstant> {
  function instant(millisecond: number, ticks: number): FineInstant | undefined {
    if (!isCount(millisecond) || !isCount(ticks) || ticks >= perMillisecond) return undefined;
    return millisecond === 0 && ticks === 0 ? initial : { millisecond, ticks };
  }
  return {
    maxWords: 2,
    write(at, words, offset) {
      words[offset] = at.millisecond;
      words[offset + 1] = at.ticks;
      return 2;
    },
    read: (words, offset, count) =>
      count === 2 ? instant(words[offset]!, words[offset + 1]!) : undefined,
    encode: (at) => encode(at.millisecond, at.ticks),
    decode(text) {
      const held = decode(text);
      return held === undefined ? undefined : instant(held[0], held[1]);
    },
  };
}

/** Whether a scale of this fineness fits one number up to the last instant. */
export function ticksFitOneNumber(perMillisecond: number, furthest: number): boolean {
  return perMillisecond * LAST_INSTANT + furthest < 2 ** 53;
}
