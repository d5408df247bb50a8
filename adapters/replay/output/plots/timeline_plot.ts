/*
 * Shows when each candidate would have refused: at a peak, or all the time. All panels have the
 * same scale, so that candidates can be compared by eye.
 */

import { count, percent } from "../format_numbers.ts";
import type { TimeBins } from "../../time_bins.ts";
import { fitting, linear, roundSteps, type Scale, timeAxis, valueAxis } from "./axis.ts";
import { box, element, label, picture } from "./svg.ts";

/** A row of the plot. */
export interface TimelinePanel {
  /** Its name. */
  readonly name: string;
  /** What it shows. */
  readonly bins: TimeBins;
}

const LEFT = 64;
const RIGHT = 12;
const PANEL = 84;
const GAP = 30;
const TOP = 34;

/** Units admitted and refused over time: a row of bars for each candidate, all on one scale. */
export function timelinePlot(
  title: string,
  panels: readonly TimelinePanel[],
  width = 760,
): string {
  const right = width - RIGHT;
  const start = Math.min(...panels.map(({ bins }) => bins.start));
  const end = Math.max(...panels.map(({ bins }) => bins.start + bins.allowed.length * bins.width));
  const most = Math.max(1, ...panels.flatMap(({ bins }) => sums(bins)));
  const bottom = TOP + panels.length * (PANEL + GAP) - GAP;
  const x = linear(0, end - start, LEFT, right);
  const steps = roundSteps(most, 2);

  const rows = panels.flatMap(({ name, bins }, index) => {
    const top = TOP + index * (PANEL + GAP);
    const y = linear(0, steps.at(-1)!, top + PANEL, top);
    const denied = bins.denied.reduce((sum, units) => sum + units, 0);
    const all = denied + bins.allowed.reduce((sum, units) => sum + units, 0);
    return [
      ...valueAxis(y, steps, LEFT, right),
      bars(bins, "allowed", start, x, right, (units) => [y(units), y(0)]),
      // Two pixels at least: even a single refusal among thousands must be visible.
      bars(bins, "denied", start, x, right, (units, bin) => {
        const base = y(bins.allowed[bin]!);
        return [Math.min(y(bins.allowed[bin]! + units), base - 2), base];
      }),
      label(LEFT, top - 8, fitting(name, right - LEFT - 110), { class: "strong" }),
      label(right, top - 8, `${percent(denied, all)} % refused`, {
        class: denied > 0 ? "alarm" : "soft",
        anchor: "end",
      }),
    ];
  });
  const note = `units per ${count(panels[0]!.bins.width / 1_000)} s`;
  return picture(width, bottom + 42, title, [
    ...timeAxis(x, end - start, TOP, bottom),
    ...rows,
    label(LEFT, bottom + 34, `${note}; blue admitted, red refused`, { class: "soft" }),
  ]);
}

function sums({ allowed, denied }: TimeBins): readonly number[] {
  return allowed.map((units, index) => units + denied[index]!);
}

/** The bars of one kind, one per bin, up to `right`; `sides` returns a bar's top and bottom. */
export function bars(
  { start: first, width, ...units }: TimeBins,
  kind: "allowed" | "denied",
  start: number,
  x: Scale,
  right: number,
  sides: (units: number, bin: number) => readonly [top: number, bottom: number],
): string {
  const boxes = units[kind].map((count, bin) => {
    if (count === 0) return "";
    const from = x(first - start + bin * width);
    const to = Math.min(right, from + Math.max(1.2, x(width) - x(0)));
    const [top, bottom] = sides(count, bin);
    return box(from, top, to, bottom);
  });
  return element("path", { class: kind === "allowed" ? "calm" : "alarm", d: boxes.join("") });
}
