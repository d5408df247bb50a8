import assert from "node:assert/strict";
import { test } from "node:test";

import { CROWDS, peak, requestsPerSecond } from "../../examples/stampede.ts";
import { admittedAt, LIMITS, mostInAMinute } from "../../examples/window_edge.ts";

test("a fixed window lets twice its limit through at its edge, and the others do not", () => {
  const most = LIMITS.map(([name, algorithm]) => [name, mostInAMinute(admittedAt(algorithm))]);
  assert.deepEqual(most, [
    ["fixedWindow", 200],
    ["slidingCounter", 103],
    ["slidingLog", 100],
    ["gcra, burst 20", 26],
  ]);
});

test("everybody comes back at once under a fixed window, and under nothing else", () => {
  const peaks = CROWDS.map((crowd) => peak(requestsPerSecond(crowd)));
  const [fixed, jittered, ...others] = peaks as [number, number, ...number[]];
  assert.equal(fixed, 500);
  assert.ok(jittered < fixed / 2, `${jittered}`);
  for (const other of others) assert.ok(other <= 100, `${other}`);
});
