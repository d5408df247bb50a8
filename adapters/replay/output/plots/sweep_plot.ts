/*
 * Shows how low each algorithm's limit can be before it refuses requests, so that a limit can be
 * chosen by eye.
 */

import { count } from "../format_numbers.ts";
import type { SweepPoint, SweepReport } from "../../sweep.ts";
import { legend, logarithmic, magnitudes, valueAxis } from "./axis.ts";
import { element, label, line, picture, track } from "./svg.ts";

const LEFT = 64;
const RIGHT = 16;
const HEIGHT = 260;
const LEAST = 1e-4;

/**
 * The share of requests refused against the limit, a curve for each algorithm, on logarithmic axes.
 * A share below 0.01 % is drawn at the bottom.
 */
export function sweepPlot(title: string, sweeps: readonly SweepReport[], width = 760): string {
  const right = width - RIGHT;
  const { rows, height: top } = legend(sweeps.map(({ name }) => name), LEFT, right);
  const bottom = top + HEIGHT;
  const limits = sweeps.flatMap(({ points }) => points.map(({ limit }) => limit));
  const from = Math.min(...limits);
  const to = Math.max(...limits);
  const x = logarithmic(from, to, LEFT, right);
  const y = logarithmic(LEAST, 1, bottom, top);
  const marks = magnitudes(from, to);
  // If there is little room, not every mark has a number.
  const every = Math.ceil(marks.length * 60 / (right - LEFT));
  const ticks = marks.flatMap((limit, index) => [
    line(x(limit), top, x(limit), bottom + 4, "rule"),
    ...(index % every !== 0 ? [] : [
      label(x(limit), bottom + 17, count(limit), {
        class: "soft",
        anchor: right - x(limit) < 30 ? "end" : "middle",
      }),
    ]),
  ]);
  const curves = sweeps.map(({ points }, index) =>
    element("path", {
      class: `series s${index % 6}`,
      d: track(untilNobody(points).map(({ limit, denied }) => [x(limit), y(denied)])),
    })
  );
  return picture(width, bottom + 40, title, [
    ...ticks,
    ...valueAxis(y, [1e-4, 1e-3, 1e-2, 1e-1, 1], LEFT, right, share),
    ...curves,
    ...rows,
    label(right, bottom + 34, sweeps[0]?.finds ?? "limit", { class: "soft", anchor: "end" }),
    label(LEFT, bottom + 34, "share of requests refused", { class: "soft" }),
  ]);
}

/** The points down to the first that refuses nobody. */
function untilNobody(points: readonly SweepPoint[]): readonly SweepPoint[] {
  const first = points.findIndex(({ denied }) => denied === 0);
  return first === -1 ? points : points.slice(0, first + 1);
}

function share(value: number): string {
  return `${Number((value * 100).toPrecision(1))} %`;
}
