/*
 * Shows when each candidate would have refused: at a peak, or all the time. All candidates share one
 * picture, so that they can be compared by eye.
 */

import { fitting, linear, type Scale, timeAxis } from "../adapters/replay/output/plots/axis.ts";
import { box, element, label } from "../adapters/replay/output/plots/svg.ts";
import { benchPicture } from "./bench_picture.ts";
import type { TimeBins } from "../adapters/replay/replay.ts";
import { durationText } from "../core/application_support.ts";
import { legend, track } from "./series_lines.ts";
import { roundSteps, valueAxis } from "./value_axis.ts";

/** A candidate's line in the plot. */
export interface TimelineSeries {
  /** Its name. */
  readonly name: string;
  /** All units over time, by outcome. */
  readonly bins: TimeBins;
}

const LEFT = 64;
const RIGHT = 12;
const HEIGHT = 200;

/** The most lines that a reader can distinguish. */
const MAX_SERIES = 6;

/** All units over time as bars, and for each candidate a line of those that it refuses. */
export function timelinePlot(
  title: string,
  series: readonly TimelineSeries[],
  width = 760,
): string {
  const right = width - RIGHT;
  const shown = series.slice(0, MAX_SERIES);
  const { start, width: bin, allowed, denied } = shown[0]!.bins;
  const all = allowed.map((units, index) => units + denied[index]!);
  const names = shown.map(({ name }) => fitting(name, right - LEFT - 40));
  const { rows, height: top } = legend(names, LEFT, right);
  const bottom = top + HEIGHT;
  const span = all.length * bin;
  const x = linear(0, span, LEFT, right);
  const steps = roundSteps(Math.max(1, ...all), 4);
  const y = linear(0, steps.at(-1)!, bottom, top);
  const total: TimeBins = { start, width: bin, allowed: all, denied: [] };
  return benchPicture(width, bottom + 42, title, [
    ...timeAxis(x, start, span, top, bottom),
    ...valueAxis(y, steps, LEFT, right),
    bars(total, "allowed", start, x, right, (units) => [y(units), y(0)], "ground"),
    ...shown.map(({ bins }, index) =>
      element("path", { class: `series s${index}`, d: stepsOf(bins, x, y) })
    ),
    ...rows,
    label(LEFT, bottom + 34, `units per ${durationText(bin)}: bars all, lines refused`, {
      class: "soft",
    }),
  ]);
}

/** A line along the units refused, which leaves the ground only where there are any. */
function stepsOf({ denied, width }: TimeBins, x: Scale, y: Scale): string {
  let path = "";
  denied.forEach((units, bin) => {
    if (units === 0) return;
    // Two pixels at least: even a single refusal among thousands must be visible.
    const top = Math.min(y(units), y(0) - 2);
    path += track([
      [x(bin * width), denied[bin - 1] ? Math.min(y(denied[bin - 1]!), y(0) - 2) : y(0)],
      [x(bin * width), top],
      [x((bin + 1) * width), top],
      ...(denied[bin + 1] ? [] : [[x((bin + 1) * width), y(0)] as const]),
    ]);
  });
  return path;
}

/** The bars of one kind, one per bin, up to `right`; `sides` returns a bar's top and bottom. */
function bars(
  { start: first, width, ...units }: TimeBins,
  kind: "allowed" | "denied",
  start: number,
  x: Scale,
  right: number,
  sides: (units: number, bin: number) => readonly [top: number, bottom: number],
  look: string = kind === "allowed" ? "calm" : "alarm",
): string {
  const boxes = units[kind].map((count, bin) => {
    if (count === 0) return "";
    // A bin may begin before the span that is shown.
    const from = Math.max(x(0), x(first - start + bin * width));
    const to = Math.min(right, Math.max(from + 1.2, x(first - start + (bin + 1) * width)));
    const [top, bottom] = sides(count, bin);
    return box(from, top, to, bottom);
  });
  return element("path", { class: look, d: boxes.join("") });
}
