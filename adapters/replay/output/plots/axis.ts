/*
 * Scales, axes and legends for all plots, so that they look alike and label values in the same
 * way.
 */

import { count, TIME_UNITS } from "../format_numbers.ts";
import { element, label, line } from "./svg.ts";

/** Maps values to coordinates of the picture. */
export type Scale = (value: number) => number;

/** A linear scale. */
export function linear(from: number, to: number, start: number, end: number): Scale {
  const span = to - from || 1;
  return (value) => start + (value - from) / span * (end - start);
}

/** A logarithmic scale; values below `from` are drawn at `from`. */
export function logarithmic(from: number, to: number, start: number, end: number): Scale {
  const scale = linear(Math.log(from), Math.log(Math.max(to, from * 1.001)), start, end);
  return (value) => scale(Math.log(Math.max(value, from)));
}

/** Round numbers from 0 to at least `most`; `about` says roughly how many. */
export function roundSteps(most: number, about: number): readonly number[] {
  const rough = Math.max(most, 1e-9) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, index) => index * step);
}

/** Powers of ten, with 2 and 5 between them where there is room. */
export function magnitudes(from: number, to: number): readonly number[] {
  const factors = Math.log10(to / from) > 4 ? [1] : [1, 2, 5];
  const values: number[] = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.log10(to); power++) {
    for (const factor of factors) {
      const value = Number((factor * 10 ** power).toPrecision(1));
      if (value >= from && value <= to) values.push(value);
    }
  }
  return values;
}

const TIME_STEPS: readonly number[] = [
  ...[1, 5, 10, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000],
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60_000),
  ...[1, 2, 3, 6, 12, 24, 48, 168].map((hours) => hours * 3_600_000),
];

/** A time axis below a plot: durations since the start. */
export function timeAxis(
  x: Scale,
  span: number,
  top: number,
  bottom: number,
): readonly string[] {
  const most = Math.max(2, Math.floor((x(span) - x(0)) / 70));
  const step = TIME_STEPS.find((step) => span / step <= most) ?? 30 * 86_400_000;
  // All labels in the unit of the step, so that 75 min is not written as 1.3 h.
  const [unit, name] = TIME_UNITS.find(([unit]) => step >= unit)!;
  const ticks: string[] = [];
  for (let at = 0; at <= span; at += step) {
    ticks.push(
      line(x(at), top, x(at), bottom + 4, "rule"),
      label(x(at), bottom + 17, at === 0 ? "0" : `${count(at / unit)} ${name}`, {
        class: "soft",
        // A label at the right edge would be cut.
        anchor: x(span) - x(at) < 24 ? "end" : "middle",
      }),
    );
  }
  return ticks;
}

/** An axis of numbers at the left of a plot. */
export function valueAxis(
  y: Scale,
  values: readonly number[],
  left: number,
  right: number,
  text: (value: number) => string = count,
): readonly string[] {
  return values.flatMap((value) => [
    line(left, y(value), right, y(value), "rule"),
    label(left - 6, y(value) + 4, text(value), { class: "soft", anchor: "end" }),
  ]);
}

/** How wide a character is, at most. */
export const CHARACTER = 7.4;

/** A legend's rows, and how high they are. */
export interface Legend {
  readonly rows: readonly string[];
  readonly height: number;
}

/** The names of the series, each next to a piece of its line, in as many rows as needed. */
export function legend(names: readonly string[], left: number, right: number): Legend {
  let x = left;
  let top = 18;
  const rows = names.map((name, index) => {
    const width = 32 + name.length * CHARACTER;
    if (x > left && x + width > right) {
      x = left;
      top += 18;
    }
    const at = x;
    x += width + 16;
    return element(
      "g",
      {},
      line(at, top - 4, at + 26, top - 4, `series s${index % 6}`),
      label(at + 32, top, name),
    );
  });
  return { rows, height: top + 22 };
}

/** A text cut to a width. */
export function fitting(text: string, width: number): string {
  const most = Math.floor(width / CHARACTER);
  return text.length > most ? `${text.slice(0, Math.max(1, most - 1))}\u2026` : text;
}
