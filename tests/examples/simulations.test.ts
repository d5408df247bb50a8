import assert from "node:assert/strict";
import { test } from "node:test";

import { CROWDS, peak, requestsPerSecond, SETTLED } from "../../examples/stampede.ts";
import { admittedAt, LIMITS, mostInAMinute } from "../../examples/window_edge.ts";
import { readText } from "../support/tree.ts";

test("a fixed window lets twice its limit through at its edge, and the others do not", () => {
  const most = LIMITS.map(([name, algorithm]) => [name, mostInAMinute(admittedAt(algorithm))]);
  assert.deepEqual(most, [
    ["fixedWindow", 200],
    ["slidingCounter", 103],
    ["slidingLog", 100],
    ["gcra, burst 20", 26],
  ]);
  assert.deepEqual(figuresOf("The edge of a window"), most.map(([, units]) => [units]));
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
