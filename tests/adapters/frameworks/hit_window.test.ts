import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";

import { type HitWindow, hitWindow } from "../../../adapters/frameworks/hit_window.ts";
import {
  algorithmLaws,
  type AlgorithmRule,
  type Counted,
  fixedWindowRule,
  type Subject,
} from "../../../adapters/testing/testing.ts";
import { fcOptions } from "../../support/seed.ts";

/** With one duration it is a fixed window that the first call opens, and that stays open. */
function hitWindowRule(limit: number, period: number): AlgorithmRule<Counted> {
  const rule = fixedWindowRule({ limit, period, anchor: "first" });
  const isOpen = (use: Counted, now: bigint) => now < use.start + BigInt(period);
  return {
    ...rule,
    maxDebt: 0n,
    after: (use, now, cost) =>
      rule.after(use, now, cost) ??
        (use !== undefined && isOpen(use, now) ? { start: use.start, units: 0n } : undefined),
    fresh: (use, now) => !isOpen(use, now),
  };
}

const subjects = fc.record({
  limit: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constant(1_000_000_000)),
  period: fc.integer({ min: 1, max: 100_000 }),
}).map(({ limit, period }): Subject<HitWindow> => ({
  algorithm: hitWindow(limit, period),
  rule: hitWindowRule(limit, period) as AlgorithmRule,
  grids: [period],
}));

/** Laws that it breaks on purpose: it stays open, and has one id for all durations. */
const OTHERWISE = [
  "algorithms of one id go on with each other's states",
  "giving back undoes taking, and no more",
  "giving back everything leaves a fresh key, if the clock never stepped back",
];

describe("a window of hits", () => {
  const laws = algorithmLaws(subjects);
  assert.deepEqual(OTHERWISE.filter((name) => !laws.some((law) => law.name === name)), []);
  for (const law of laws.filter(({ name }) => !OTHERWISE.includes(name))) {
    test(law.name, () => law.run(fcOptions()));
  }

  test("is blocked by a hit too many, and then fresh", () => {
    const { step, initial } = hitWindow(10, 1_000, { most: 2, duration: 300 });
    const [, twice] = step(initial, 0, 2);
    const [begins, blocked] = step(twice, 100, 1);
    assert.deepEqual([begins.allowed, begins.remaining, begins.resetAfter], [true, 0, 300]);
    const [refused, same] = step(blocked, 399, 1);
    assert.deepEqual([refused.allowed, refused.retryAfter], [false, 1]);
    assert.equal(same, blocked);
    assert.deepEqual(step(blocked, 400, 1)[1], [400, 1_400, 1]);
    // A clock that stepped back does not shorten the block.
    assert.equal(step(step(twice, 0, 1)[1], 299, 1)[0].allowed, false);
  });

  test("refuses durations out of range by name", () => {
    assert.throws(() => hitWindow(1, 0), /^RangeError: Cannot count hits as duration/);
    const block = { most: 1, duration: 0 };
    assert.throws(() => hitWindow(1, 1, block), /^RangeError: Cannot count hits as blockDuration/);
  });
});
