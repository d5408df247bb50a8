import { describe, test } from "node:test";
import fc from "fast-check";

import { type HitWindow, hitWindow } from "../../../adapters/frameworks/hit_window.ts";
import { algorithmLaws, fixedWindowRule, type Subject } from "../../../adapters/testing/testing.ts";
import { fcOptions } from "../../support/seed.ts";

/** With one duration it is a fixed window that the first call opens. */
const subjects = fc.record({
  limit: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constant(1_000_000_000)),
  period: fc.integer({ min: 1, max: 100_000 }),
}).map(({ limit, period }): Subject<HitWindow> => ({
  algorithm: hitWindow(limit, period),
  rule: { ...fixedWindowRule({ limit, period, anchor: "first" }), maxDebt: 0n },
  grids: [period],
}));

describe("a window of hits", () => {
  // Its id is one for all durations, because a hit may bring another one.
  const laws = algorithmLaws(subjects).filter(({ name }) => !name.includes("of one id"));
  for (const law of laws) test(law.name, () => law.run(fcOptions()));
});
