import { count } from "../adapters/replay/output/format_numbers.ts";
import { linear, timeAxis } from "../adapters/replay/output/plots/axis.ts";
import { element, label, line } from "../adapters/replay/output/plots/svg.ts";
import { benchPicture } from "./bench_picture.ts";
import { legend, track } from "./series_lines.ts";
import { roundSteps, valueAxis } from "./value_axis.ts";

const TIME_UNITS = [[60_000, "min"], [1_000, "s"], [1, "ms"]] as const;

/** Durations, all in the unit of the step, so that 75 min is not written as 1.3 h. */
function durationAt(at: number, step: number): string {
  const [unit, name] = TIME_UNITS.find(([unit]) => step >= unit)!;
  return at === 0 ? "0" : `${count(at / unit)} ${name}`;
}

/** A line of the plot. */
export interface Series {
  /** Its name. */
  readonly name: string;
  /** Its points: milliseconds since the start, and a value. */
  readonly points: readonly (readonly [at: number, value: number])[];
}

const WIDTH = 760;
const LEFT = 64;
const RIGHT = 16;

/** Values over time, a line for each series; `limit` draws a line that should not be crossed. */
export function seriesPlot(
  title: string,
  series: readonly Series[],
  options: { readonly limit?: number; readonly unit: string; readonly height?: number },
): string {
  const { limit, unit, height = 240 } = options;
  const { rows, height: top } = legend(series.map(({ name }) => name), LEFT, WIDTH - RIGHT);
  const bottom = top + height;
  const span = Math.max(1, ...series.flatMap(({ points }) => points.map(([at]) => at)));
  const most = Math.max(
    limit ?? 0,
    ...series.flatMap(({ points }) => points.map(([, value]) => value)),
  );
  const steps = roundSteps(most, 5);
  const x = linear(0, span, LEFT, WIDTH - RIGHT);
  const y = linear(0, steps.at(-1)!, bottom, top);
  return benchPicture(WIDTH, bottom + 40, title, [
    ...timeAxis(x, 0, span, top, bottom, durationAt),
    ...valueAxis(y, steps, LEFT, WIDTH - RIGHT, (value) => count(Number(value.toPrecision(6)))),
    ...(limit === undefined ? [] : [line(LEFT, y(limit), WIDTH - RIGHT, y(limit), "limit")]),
    ...series.map(({ points }, index) =>
      element("path", {
        class: `series s${index % 6}`,
        d: track(points.map(([at, value]) => [x(at), y(value)])),
      })
    ),
    ...rows,
    label(LEFT, bottom + 34, unit, { class: "soft" }),
  ]);
}
