import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import { capacitiesOf, freshInstant, leftOf } from "../../../core/arithmetic/fresh_instant.ts";
import { all, fixedWindow, gcra } from "../../../mod.ts";
import { fcOptions } from "../../support/seed.ts";

const MAX_INSTANT = 2 ** 42;
/** More than is left of a key without units, and less than of any other. */
const USED_UP = 1 / 16 + 2 ** -11;
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
      const spec = { capacity, parts: [] };
      const kept = freshInstant(now, decision, spec);
      const freshAt = now + resetAfter;
      for (const instant of [freshAt - 1, freshAt, freshAt + 1]) {
        if (instant <= MAX_INSTANT) assert.equal(kept <= instant, freshAt <= instant);
      }
      if (freshAt > MAX_INSTANT) return;
      const more = freshInstant(now, { ...decision, remaining: remaining + 1 }, spec);
      if (debt > 0) assert.equal(leftOf(kept), 0);
      else if (remaining === 0) assert.ok(leftOf(kept) > 0 && leftOf(kept) < USED_UP);
      else assert.ok(leftOf(kept) > USED_UP);
      if (debt === 0 && remaining < capacity && capacity < 100) {
        assert.ok(leftOf(more) > leftOf(kept));
      }
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
  const window = { ...decision, remaining: 20, parts: undefined };
  assert.equal(
    freshInstant(now, decision, capacitiesOf(both)),
    freshInstant(now, window, { capacity: 100, parts: [] }),
  );
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
    assert.equal(leftOf(kept), 0);
  }
  assert.equal(leftOf(Infinity), 0);
});
