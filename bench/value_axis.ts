/*
 * The axis of values of the plots in docs.
 */

import { count } from "../adapters/replay/output/format_numbers.ts";
import type { Scale } from "../adapters/replay/output/plots/axis.ts";
import { label, line } from "../adapters/replay/output/plots/svg.ts";

/** Round numbers from 0 to at least `most`; `about` says roughly how many. */
export function roundSteps(most: number, about: number): readonly number[] {
  const rough = Math.max(most, 1e-9) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, index) => index * step);
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
