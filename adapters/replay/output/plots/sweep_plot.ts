import { count } from "../format_numbers.ts";
import type { SweepPoint, SweepReport } from "../../sweep.ts";
import { legend, logarithmic, magnitudes, valueAxis } from "./axis.ts";
import { element, label, line, picture, track } from "./svg.ts";

const WIDTH = 760;
const LEFT = 64;
const RIGHT = 16;
const TOP = 40;
const BOTTOM = 300;
const LEAST = 1e-4;

/**
 * The share of requests refused against the limit, a curve for each algorithm, on logarithmic axes.
 * A share below 0.01 % lies on the ground.
 */
export function sweepPlot(title: string, sweeps: readonly SweepReport[]): string {
  const limits = sweeps.flatMap(({ points }) => points.map(({ limit }) => limit));
  const from = Math.min(...limits);
  const to = Math.max(...limits);
  const x = logarithmic(from, to, LEFT, WIDTH - RIGHT);
  const y = logarithmic(LEAST, 1, BOTTOM, TOP);
  const ticks = magnitudes(from, to).flatMap((limit) => [
    line(x(limit), TOP, x(limit), BOTTOM + 4, "rule"),
    label(x(limit), BOTTOM + 17, count(limit), { class: "soft", anchor: "middle" }),
  ]);
  const curves = sweeps.map(({ points }, place) =>
    element("path", {
      class: `series s${place % 6}`,
      d: track(untilNobody(points).map(({ limit, denied }) => [x(limit), y(denied)])),
    })
  );
  return picture(WIDTH, BOTTOM + 40, title, [
    ...ticks,
    ...valueAxis(y, [1e-4, 1e-3, 1e-2, 1e-1, 1], LEFT, WIDTH - RIGHT, share),
    ...curves,
    ...legend(sweeps.map(({ name }) => name), LEFT, 18),
    label(WIDTH - RIGHT, BOTTOM + 34, "limit", { class: "soft", anchor: "end" }),
    label(LEFT, BOTTOM + 34, "share of requests refused", { class: "soft" }),
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
