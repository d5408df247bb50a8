/*
 * Builds slidingWindow and slidingLog, which keep a history: the reducer by sub-buckets, and how
 * a history is written as words and text.
 */

import type { Algorithm } from "../algorithm.ts";
import { countOf, isCount, mostUnits } from "../arithmetic/counts.ts";
import { type Accounting, buildAlgorithm } from "./build_algorithm.ts";
import { byPlace } from "../arithmetic/returns.ts";
import type { Codec } from "../codec.ts";
import {
  bucketsOf,
  detachedTimeline,
  EMPTY_TIMELINE,
  timelineOf,
} from "../timeline/counted_timeline.ts";
import type { Rate } from "../options/rate_options.ts";
import type { Timeline } from "../timeline/timeline.ts";

/** A window made of sub-buckets of `precision` ms each; `precision` divides the period. */
export interface TimelineOptions extends Rate {
  /** The factory's name, and its options that are part of `id`. */
  readonly id: readonly [factory: string, ...options: readonly (number | string)[]];
  readonly precision: number;
}

/**
 * Builds `slidingWindow` and `slidingLog`: one reducer, because a log to the millisecond is a window
 * made of sub-buckets of 1 ms.
 */
export function timelineAlgorithm(window: TimelineOptions): Algorithm<Timeline> {
  const { limit, period, precision } = window;
  const span = period / precision;
  return buildAlgorithm({
    ...window,
    capacity: limit,
    mostUse: mostUnits(limit, Infinity),
    initial: EMPTY_TIMELINE,
    accounting: bucketAccounting(limit, precision, span),
    codec: timelineCodec(span),
    span,
    bytes: (timeline) => timeline.bytes ?? 0,
    detach: (timeline) => detachedTimeline(timeline, timeline.newest - span + 1),
  });
}

function bucketAccounting(limit: number, precision: number, span: number): Accounting<Timeline> {
  const entries = mostEntries(span, limit);

  /** The sub-bucket that a call at `now` falls in: never before the newest one that holds units. */
  function bucketAt(timeline: Timeline, now: number): number {
    const bucket = Math.floor(now / precision);
    return bucket > timeline.newest ? bucket : timeline.newest;
  }

  function used(timeline: Timeline, now: number): number {
    return timeline.since(bucketAt(timeline, now) - span + 1);
  }

  /** Milliseconds until `bucket` leaves the window. */
  function untilGone(bucket: number, now: number): number {
    const wait = (bucket + span) * precision - now;
    return wait > 0 ? wait : 0;
  }

  return {
    add(timeline, now, units) {
      const bucket = bucketAt(timeline, now);
      return timeline.add(bucket, units, bucket - span + 1);
    },
    giveBack(timeline, now, units) {
      return units < used(timeline, now) ? timeline.takeBack(units) : timeline.none();
    },
    free: (timeline, now) => limit - used(timeline, now),
    wait: (timeline, now, cost) => untilGone(timeline.leaves(limit - cost), now),
    reset: (timeline, now) => untilGone(timeline.newest, now),
    compact(timeline, now) {
      const { newest } = timeline;
      const bucket = bucketAt(timeline, now);
      const oldest = bucket - span + 1;
      if (bucket === newest || !holdsEntries(timeline, oldest, entries)) return timeline;
      const units = timeline.since(newest);
      return timeline.takeBack(units).add(bucket, units, oldest);
    },
    returns: byPlace({
      newest: ({ newest }) => newest,
      held(timeline, now, bucket) {
        if (bucket < bucketAt(timeline, now) - span + 1) return 0;
        return timeline.since(bucket) - timeline.since(bucket + 1);
      },
      without: (timeline, now, units, bucket) =>
        withoutUnits(timeline, bucket, units, bucketAt(timeline, now) - span + 1),
    }),
  };
}

/** A timeline with fewer units in one of its buckets. Linear in the buckets after it that hold units. */
function withoutUnits(timeline: Timeline, bucket: number, units: number, oldest: number): Timeline {
  const later = bucketsOf(timeline, bucket);
  const all = timeline.since(bucket);
  let rest = all < timeline.since(oldest) ? timeline.takeBack(all) : timeline.none();
  for (let index = later.length - 2; index >= 0; index -= 2) {
    const left = later[index + 1]! - (later[index] === bucket ? units : 0);
    if (left > 0) rest = rest.add(later[index]!, left, oldest);
  }
  return rest;
}

/** How many buckets beyond the limit may hold charged units. */
const SPARE_ENTRIES = 16;

/**
 * The most buckets of a history that hold units. Without debt, each unit may have a bucket of its
 * own. A key in debt has a few more buckets. Further charges then move the newest bucket forward,
 * so that no unit leaves earlier than it should.
 */
export function mostEntries(span: number, limit: number): number {
  return Math.min(span, limit + SPARE_ENTRIES);
}

/** Whether `count` buckets, from `oldest` on, hold units. */
function holdsEntries(timeline: Timeline, oldest: number, count: number): boolean {
  // Each bucket holds at least one unit. Only a key in debt holds so many units, so the walk below
  // is limited to keys in debt.
  if (timeline.since(oldest) < count) return false;
  let bucket = timeline.newest;
  let entries = 0;
  for (; entries < count && bucket >= oldest; entries++) {
    bucket = timeline.leaves(timeline.since(bucket));
  }
  return entries === count;
}

/** The one word of a timeline that holds nothing. */
const NO_BUCKETS = -1;

/**
 * Words and text hold the live buckets by gaps, newest first: the number and the units of the
 * newest bucket, then for each older bucket the difference between its number and the number of the
 * next newer bucket, and its units.
 */
function timelineCodec(span: number): Codec<Timeline> {
  const maxWords = 2 * span;
  return {
    maxWords,
    write(timeline, words, offset) {
      const gaps = gapsOf(timeline, span);
      if (gaps.length === 0) gaps.push(NO_BUCKETS);
      words.set(gaps, offset);
      return gaps.length;
    },
    read(words, offset, count) {
      if (count === 1 && words[offset] === NO_BUCKETS) return EMPTY_TIMELINE;
      if (count === 0 || count % 2 !== 0 || count > maxWords) return undefined;
      return fromGaps(Array.from(words.subarray(offset, offset + count)), span);
    },
    encode: (timeline) => gapsText(gapsOf(timeline, span)),
    decode(text) {
      const gaps = gapsOfText(text);
      if (gaps === undefined || gaps.length > maxWords) return undefined;
      return gaps.length === 0 ? EMPTY_TIMELINE : fromGaps(gaps, span);
    },
  };
}

/** The live buckets of a timeline, by gaps. */
function gapsOf(timeline: Timeline, span: number): number[] {
  const gaps = bucketsOf(timeline, timeline.newest - span + 1);
  for (let index = gaps.length - 2; index > 0; index -= 2) {
    gaps[index] = gaps[index - 2]! - gaps[index]!;
  }
  return gaps;
}

/** The timeline of buckets by gaps; `undefined` if no step can have made it. */
function fromGaps(gaps: readonly number[], span: number): Timeline | undefined {
  const buckets: number[] = [];
  let bucket = gaps[0]!;
  let total = 0;
  for (let index = 0; index < gaps.length; index += 2) {
    const gap = gaps[index]!;
    const units = gaps[index + 1]!;
    if (!isCount(gap) || !isCount(units) || units === 0) return undefined;
    if (index > 0) {
      if (gap === 0) return undefined;
      bucket -= gap;
    }
    total += units;
    buckets.push(units, bucket);
  }
  const isLive = bucket >= 0 && gaps[0]! - bucket < span && isCount(total);
  return isLive ? timelineOf(buckets.reverse()) : undefined;
}

/** Gaps as text. For an older bucket, units of 1 are left out. */
function gapsText(gaps: readonly number[]): string {
  let text = gaps.length === 0 ? "w1" : `w1 ${gaps[0]} ${gaps[1]}`;
  for (let index = 2; index < gaps.length; index += 2) {
    const units = gaps[index + 1]!;
    text += units === 1 ? ` ${gaps[index]}` : ` ${gaps[index]}:${units}`;
  }
  return text;
}

/**
 * The gaps of a text; `undefined` if the text has another version, `NaN` in place of each word that
 * is not a count.
 */
function gapsOfText(text: string): readonly number[] | undefined {
  const [version, newest, units, ...older] = text.split(" ");
  if (version !== "w1") return undefined;
  if (newest === undefined) return [];
  const gaps = [countOf(newest), countOf(units)];
  for (const bucket of older) {
    const colon = bucket.indexOf(":");
    const taken = colon === -1 ? 1 : countOf(bucket.slice(colon + 1));
    // One unit is written by leaving it out.
    if (colon !== -1 && taken === 1) return undefined;
    gaps.push(countOf(colon === -1 ? bucket : bucket.slice(0, colon)), taken);
  }
  return gaps;
}
