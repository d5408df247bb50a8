/*
 * The lines of series in the plots of docs, and their legend.
 */

import { CHARACTER } from "../adapters/replay/output/plots/axis.ts";
import { element, label, line, rounded } from "../adapters/replay/output/plots/svg.ts";

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

/** A line through points, as a path. */
export function track(points: readonly (readonly [x: number, y: number])[]): string {
  return points.map(([x, y], index) => `${index === 0 ? "M" : "L"}${rounded(x)} ${rounded(y)}`)
    .join("");
}
