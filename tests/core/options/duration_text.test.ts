import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import { durationText, periodText, readPeriod } from "../../../core/options/period.ts";
import { fcOptions } from "../../support/seed.ts";

test("durations are shown in the largest unit that they fill", () => {
  const spans = [0, 999, 1_000, 59_000, 60_000, 90_000, 3_600_000, 86_400_000, Infinity];
  assert.deepEqual(
    spans.map(durationText),
    ["0 ms", "999 ms", "1 s", "59 s", "1 min", "1.5 min", "1 h", "1 d", "forever"],
  );
});

test("a period that is written as text is read again as the same milliseconds", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 42 }), (period) => {
      assert.equal(readPeriod("test", "period", periodText(period)), period);
    }),
    fcOptions(),
  );
  assert.deepEqual([600_000, 90_000, 1_500].map(periodText), ["10m", "90s", "1500ms"]);
});
