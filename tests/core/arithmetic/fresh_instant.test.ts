import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import {
  capacitiesOf,
  freshInstant,
  levelOf,
  USED_UP,
} from "../../../core/arithmetic/fresh_instant.ts";
import { all, fixedWindow, gcra } from "../../../mod.ts";
import { fcOptions } from "../../support/seed.ts";

const MAX_INSTANT = 2 ** 42;
const share = fc.record({
  capacity: fc.integer({ min: 1, max: 500 }),
  left: fc.double({ min: 0, max: 1, noNaN: true }),
  debt: fc.constantFrom(0, 0, 0, 1, 1_000),
  now: fc.integer({ min: 0, max: MAX_INSTANT }),
  resetAfter: fc.oneof(fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 1, max: 2 ** 52 })),
});

test("an instant with a share compares with whole instants as it does without", () => {
  fc.assert(
    fc.property(share, ({ capacity, left, debt, now, resetAfter }) => {
      const remaining = debt > 0 ? 0 : Math.floor(left * capacity);
      const decision = { remaining, debt, resetAfter, parts: undefined };
      const kept = freshInstant(now, decision, { capacity, parts: [] });
      const freshAt = now + resetAfter;
      for (const instant of [freshAt - 1, freshAt, freshAt + 1]) {
        if (instant <= MAX_INSTANT) assert.equal(kept <= instant, freshAt <= instant);
      }
      if (freshAt > MAX_INSTANT) return;
      const eighths = Math.floor(8 * (1 - remaining / capacity));
      const level = debt > 0 ? USED_UP + 1 : Math.min(eighths, USED_UP);
      // To the precision of the fraction.
      const near = Math.abs(8 * remaining / capacity % 1) < 0.02 ? 1 : 0;
      assert.ok(Math.abs(levelOf(kept) - level) <= near, `${levelOf(kept)}, not ${level}`);
      if (debt > 0 || remaining === 0) assert.equal(levelOf(kept), level);
      else assert.ok(levelOf(kept) < USED_UP);
    }),
    fcOptions({ numRuns: 500 }),
  );
});

test("`all` has the use of the part that has the least left", () => {
  const both = all(
    gcra({ limit: 10, period: "1s", burst: 10 }),
    fixedWindow({ limit: 100, period: "1d" }),
  );
  let state = both.initial;
  let now = 0;
  for (let call = 0; call < 80; call++, now += 1_000) state = both.step(state, now, 1)[1];
  const [decision] = both.step(state, now, 0);
  assert.equal(decision.remaining, 10);
  assert.equal(levelOf(freshInstant(now, decision, capacitiesOf(both))), 6);
});

test("an algorithm that does not know its numbers has keys that are held and protected", () => {
  const decision = { remaining: 1, debt: 0, resetAfter: 5, parts: undefined };
  assert.equal(
    freshInstant(0, { ...decision, resetAfter: NaN }, { capacity: 2, parts: [] }),
    Infinity,
  );
  assert.equal(freshInstant(0, { ...decision, resetAfter: 0.5 }, { capacity: 2, parts: [] }), 0.5);
  for (const remaining of [NaN, -1, 3, Infinity]) {
    const kept = freshInstant(0, { ...decision, remaining }, { capacity: 2, parts: [] });
    assert.equal(kept, 5);
    assert.equal(levelOf(kept), USED_UP + 1);
  }
  assert.equal(levelOf(Infinity), USED_UP + 1);
});
