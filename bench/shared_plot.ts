import { element, label, line } from "../adapters/replay/output/plots/svg.ts";
import { benchPicture } from "./bench_picture.ts";
import { logarithmic, magnitudes } from "./magnitudes.ts";
import { legend, track } from "./series_lines.ts";
import { valueAxis } from "./value_axis.ts";

/** The cost of one form of a window, by its sub-buckets. */
export interface Curve {
  readonly name: string;
  /** Sub-buckets, and nanoseconds a decision. */
  readonly points: readonly (readonly [buckets: number, nanoseconds: number])[];
}

const WIDTH = 760;
const LEFT = 64;
const RIGHT = 28;
const TOP = 40;
const BOTTOM = 320;

/** Where one form of a window becomes cheaper than another, on logarithmic axes. */
export function crossoverPlot(title: string, curves: readonly Curve[]): string {
  const points = curves.flatMap((curve) => curve.points);
  const buckets = points.map(([buckets]) => buckets);
  const times = points.map(([, nanoseconds]) => nanoseconds);
  const x = logarithmic(Math.min(...buckets), Math.max(...buckets), LEFT, WIDTH - RIGHT);
  const y = logarithmic(1, Math.max(...times), BOTTOM, TOP);
  const ticks = [...new Set(buckets)].sort((a, b) => a - b).flatMap((value) => [
    line(x(value), TOP, x(value), BOTTOM + 4, "rule"),
    label(x(value), BOTTOM + 17, String(value), { class: "soft", anchor: "middle" }),
  ]);
  return benchPicture(WIDTH, BOTTOM + 40, title, [
    ...ticks,
    ...valueAxis(y, magnitudes(1, Math.max(...times)), LEFT, WIDTH - RIGHT),
    ...curves.map(({ points }, index) =>
      element("path", {
        class: `series s${index % 6}`,
        d: track(points.map(([buckets, nanoseconds]) => [x(buckets), y(nanoseconds)])),
      })
    ),
    ...legend(curves.map(({ name }) => name), LEFT, WIDTH - RIGHT).rows,
    label(WIDTH - RIGHT, BOTTOM + 34, "sub-buckets", { class: "soft", anchor: "end" }),
    label(LEFT, BOTTOM + 34, "nanoseconds", { class: "soft" }),
  ]);
}
