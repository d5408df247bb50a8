import { CHARACTER, linear } from "../../adapters/replay/output/plots/axis.ts";
import { element, label, line } from "../../adapters/replay/output/plots/svg.ts";
import { benchPicture } from "../bench_picture.ts";
import { roundSteps } from "../value_axis.ts";
import { logarithmic, magnitudes } from "../magnitudes.ts";

/** A row of the plot: a dot for each series that has a value. */
export interface DotRow {
  readonly name: string;
  /** Whether its name is in bold. */
  readonly isOwn: boolean;
  readonly values: readonly (number | undefined)[];
}

const [WIDTH, TOP, ROW, RIGHT] = [760, 56, 24, 40];

/** A shape around a place for each series. */
const SHAPES = [
  (x: number, y: number) => `M${x - 5} ${y}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0`,
  (x: number, y: number) => `M${x - 4.5} ${y - 4.5}h9v9h-9Z`,
  (x: number, y: number) => `M${x} ${y - 6}l6 10h-12Z`,
] as const;

/** Figures of several series, a row for each name. */
export function dotPlot(
  title: string,
  series: readonly string[],
  rows: readonly DotRow[],
  { unit, isLogarithmic }: { readonly unit: string; readonly isLogarithmic: boolean },
): string {
  const values = rows.flatMap((row) => row.values.filter((value) => value !== undefined));
  const left = 24 + Math.max(...rows.map(({ name }) => name.length)) * CHARACTER * 0.92;
  const bottom = TOP + rows.length * ROW;
  const steps = isLogarithmic
    ? magnitudes(10 ** Math.floor(Math.log10(Math.min(...values))), Math.max(...values))
    : roundSteps(Math.max(...values), 5);
  const most = isLogarithmic ? Math.max(...values) : steps.at(-1)!;
  const x = (isLogarithmic ? logarithmic : linear)(steps[0]!, most, left, WIDTH - RIGHT);
  const look = (index: number) => ({ class: `series s${index}`, style: "stroke-dasharray:none" });
  return benchPicture(WIDTH, bottom + 48, title, [
    ...series.flatMap((name, index) => [
      element("path", { ...look(index), d: SHAPES[index]!(left + 8 + index * 130, 20) }),
      label(left + 20 + index * 130, 24, name),
    ]),
    ...steps.flatMap((step) => [
      line(x(step), TOP - 14, x(step), bottom, "rule"),
      label(x(step), bottom + 16, short(step), { class: "soft", anchor: "middle" }),
    ]),
    ...rows.flatMap(({ name, isOwn, values }, row) => {
      const y = TOP + row * ROW;
      return [
        line(left, y, WIDTH - RIGHT, y, "rule"),
        label(left - 10, y + 4, name, { ...(isOwn ? { class: "strong" } : {}), anchor: "end" }),
        ...values.map((value, index) =>
          value === undefined
            ? ""
            : element("path", { ...look(index), d: SHAPES[index]!(Math.round(x(value)), y) })
        ),
      ];
    }),
    label(left, bottom + 38, unit, { class: "soft" }),
  ]);
}

function short(value: number): string {
  return value < 1_000 ? String(value) : `${value / 1_000}k`;
}
