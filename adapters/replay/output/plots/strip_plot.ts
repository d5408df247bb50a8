/*
 * Shows when requests came and when they were refused: in one burst, or all day long, which the
 * totals of a report do not tell. Each limit, or each client, has a strip of its own.
 */

import { count } from "../format_numbers.ts";
import type { TimeBins } from "../../time_bins.ts";
import { CHARACTER, fitting, linear, type Scale, timeAxis } from "./axis.ts";
import { box, element, label, picture } from "./svg.ts";

/** Requests over time, and those refused. */
export interface Strip {
  readonly name: string;
  readonly requests: number;
  readonly denied: number;
  /** Units by outcome. */
  readonly timeline: TimeBins;
}

/** The picture around strips. */
export interface StripPlot {
  readonly title: string;
  /** The name of what has a strip: `client`. */
  readonly heading: string;
  readonly start: number;
  readonly end: number;
  readonly width: number;
  /** The height of a strip. */
  readonly height: number;
}

const TOP = 24;

/** Strips below each other, over one axis of time. */
export function stripPlot(
  strips: readonly Strip[],
  { title, heading, start, end, width, height }: StripPlot,
): string {
  const left = Math.max(130, width / 4);
  const notes = strips.map(({ denied, requests }) => `${count(denied)} of ${count(requests)}`);
  const right = width - 8 - Math.max(11, ...notes.map(({ length }) => length)) * CHARACTER;
  const x = linear(start, Math.max(start + 1, end), left, right);
  const bottom = TOP + strips.length * height;
  return picture(width, bottom + 24, title, [
    ...timeAxis((span) => x(start + span), start, end - start, TOP, bottom),
    label(left - 8, 14, heading, { class: "soft", anchor: "end" }),
    label(right + 8, 14, "refused", { class: "soft" }),
    ...strips.flatMap(({ name, denied, timeline }, index) => {
      const base = TOP + (index + 1) * height - 2;
      return [
        label(left - 8, base - 3, fitting(name, left - 8), { anchor: "end" }),
        ...barsOf(timeline, x, [left, right], base, height - 4),
        label(right + 8, base - 3, notes[index]!, { class: denied > 0 ? "alarm" : "soft" }),
      ];
    }),
  ]);
}

/** All units as bars of at most a height, and the refused ones in front of them. */
function barsOf(
  { start, width, allowed, denied }: TimeBins,
  x: Scale,
  [left, right]: readonly [left: number, right: number],
  base: number,
  height: number,
): readonly string[] {
  const all = allowed.map((units, bin) => units + denied[bin]!);
  const most = Math.max(...all);
  const boxOf = (units: number, bin: number) => {
    // A bin may begin before the span that is shown.
    const from = Math.max(left, x(start + bin * width));
    const to = Math.min(right, Math.max(from + 1.2, x(start + (bin + 1) * width)));
    // Two pixels at least: even a single refusal among thousands must be visible.
    return units === 0 ? "" : box(from, base - Math.max(2, units / most * height), to, base);
  };
  return [["calm", all] as const, ["alarm", denied] as const].map(([look, units]) =>
    element("path", { class: look, d: units.map(boxOf).join("") })
  );
}
