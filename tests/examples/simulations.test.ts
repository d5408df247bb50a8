import assert from "node:assert/strict";
import { test } from "node:test";

import { CROWDS, peak, requestsPerSecond, SETTLED } from "../../examples/stampede.ts";
import {
  admittedAt,
  AT_THE_EDGE,
  LIMITS,
  mostInAMinute,
  WITHOUT_END,
} from "../../examples/window_edge.ts";
import { readText } from "../support/tree.ts";

test("a fixed window lets twice its limit through at its edge, gcra over the first minute", () => {
  const most = LIMITS.map(([, algorithm]) =>
    [AT_THE_EDGE, WITHOUT_END].map((asked) => mostInAMinute(admittedAt(algorithm, asked)))
  );
  assert.deepEqual(most, [[200, 200], [103, 196], [100, 100], [106, 199], [26, 119]]);
  assert.deepEqual(figuresOf("100 a minute"), most);
});

test("everybody comes back at once under a fixed window, and under nothing else", () => {
  const peaks = CROWDS.map((crowd) => {
    const seconds = requestsPerSecond(crowd);
    return [peak(seconds), peak(seconds.slice(SETTLED))];
  });
  assert.deepEqual(peaks, [[500, 500], [217, 186], [100, 100], [100, 100], [175, 96]]);
  assert.deepEqual(figuresOf("The stampede"), peaks);
});

/** The figures in the table of a section of docs/algorithms.md, row by row. */
function figuresOf(title: string): readonly (readonly number[])[] {
  const section = readText("docs/algorithms.md").split(/^## /m)
    .find((text) => text.startsWith(`${title}\n`)) ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("|")).slice(2);
  return rows.map((row) => row.split("|").slice(2, -1).map(Number));
}
