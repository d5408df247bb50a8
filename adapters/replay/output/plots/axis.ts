/*
 * Scales and the axis of time for all plots, so that they look alike and label times in the same way.
 */

import { label, line } from "./svg.ts";

/** Maps values to coordinates of the picture. */
export type Scale = (value: number) => number;

/** A linear scale. */
export function linear(from: number, to: number, start: number, end: number): Scale {
  const span = to - from || 1;
  return (value) => start + (value - from) / span * (end - start);
}

const TIME_STEPS: readonly number[] = [
  ...[1, 5, 10, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000],
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60_000),
  ...[1, 2, 3, 6, 12, 24, 48, 168].map((hours) => hours * 3_600_000),
];

/**
 * A time axis below a plot, with a tick at each full step: by default times of day in UTC, and the
 * date where a day begins.
 */
export function timeAxis(
  x: Scale,
  start: number,
  span: number,
  top: number,
  bottom: number,
  text: (at: number, step: number) => string = clockText,
): readonly string[] {
  const most = Math.max(2, Math.floor((x(span) - x(0)) / 66));
  const step = TIME_STEPS.find((step) => span / step <= most) ?? 30 * DAY;
  const ticks: string[] = [];
  for (let at = Math.ceil(start / step) * step; at <= start + span; at += step) {
    const place = x(at - start);
    // A label at the right edge would be cut.
    const anchor = x(span) - place < 24 ? "end" : "middle";
    ticks.push(
      line(place, top, place, bottom + 4, "rule"),
      label(place, bottom + 17, text(at, step), { class: "soft", anchor }),
    );
  }
  return ticks;
}

const DAY = 86_400_000;

/** The time of day, as exact as the steps; at midnight, the date. */
function clockText(at: number, step: number): string {
  const text = new Date(at).toISOString();
  if (at % DAY === 0 || step >= DAY) return text.slice(5, 10);
  return text.slice(11, step >= 60_000 ? 16 : step >= 1_000 ? 19 : 23);
}

/** How wide a character is, at most. */
export const CHARACTER = 7.4;

/** A text cut to a width. */
export function fitting(text: string, width: number): string {
  const most = Math.floor(width / CHARACTER);
  return text.length > most ? `${text.slice(0, Math.max(1, most - 1))}\u2026` : text;
}
