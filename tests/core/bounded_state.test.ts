import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";

import {
  follow,
  gridsOf,
  schedules,
  type SubjectName,
  subjects,
} from "../../adapters/testing/testing.ts";
import type { Algorithm } from "../../core/algorithm.ts";
import { boundedState, isAhead, longestReset, MOST_AHEAD } from "../../core/bounded_state.ts";
import { openState } from "../../core/receipts/open_state.ts";
import { all, gcra, reservable } from "../../mod.ts";
import { fcOptions } from "../support/seed.ts";

const LAST_INSTANT = 2 ** 42;

/** Milliseconds until a state is fresh. */
function resetOf({ step }: Algorithm, state: unknown, now: number): number {
  return step(state, now, 0)[0].resetAfter;
}

for (const [name, subject] of Object.entries(subjects) as [SubjectName, typeof subjects.gcra][]) {
  describe(`a state of ${name}`, () => {
    test("that calls lead to is its own bound, then and later; a clock set back brings it there", () => {
      const back = fc.oneof(fc.nat(MOST_AHEAD), fc.nat(2 ** 36));
      fc.assert(
        fc.property(subject(), schedules(), back, (made, schedule, back) => {
          const { algorithm } = made;
          if (algorithm.internals?.furthest === undefined) return;
          // Beyond the units of a period a state is marked, as a debt is.
          if (algorithm.policies.some(({ burst, limit }) => burst > limit)) return;
          let state = algorithm.initial;
          let latest = 0;
          follow(schedule, { capacity: algorithm.capacity, grids: gridsOf(made) }, (now, cost) => {
            // Forwards: clocks that step are what comes below.
            latest = Math.max(latest, now);
            const [decision, next] = algorithm.step(state, latest, cost);
            state = next;
            assert.equal(boundedState(algorithm, state, latest), state);
            return decision;
          });
          assert.equal(boundedState(algorithm, state, latest + back), state);
          const now = Math.max(0, latest - back);
          const bound = boundedState(algorithm, state, now);
          if (back <= MOST_AHEAD) assert.equal(bound, state);
          assert.equal(boundedState(algorithm, bound, now), bound);
          assert.equal(isAhead(algorithm, bound, now, MOST_AHEAD), false);
          if (bound === state) return;
          // Nothing is free at the bound, and all of it is once the key is fresh.
          assert.equal(algorithm.step(bound, now, 1)[0].allowed, false);
          const resetAfter = resetOf(algorithm, bound, now);
          assert.ok(resetAfter <= longestReset(algorithm) + MOST_AHEAD, `${resetAfter} ms`);
          const { capacity } = algorithm;
          if (now + resetAfter > LAST_INSTANT) return;
          assert.equal(algorithm.step(bound, now + resetAfter, capacity)[0].allowed, true);
        }),
        fcOptions({ numRuns: 40 }),
      );
    });
  });
}

describe("a state that is too far ahead", () => {
  const minute = gcra({ limit: 10, period: "1m", burst: 10 });
  const hour = gcra({ limit: 10, period: "1h", burst: 10 });
  const NOW = 1_000_000_000;
  /** How far the clock is set back: beyond a minute, and within the hour. */
  const BACK = 600_000;
  const taken = <State>(algorithm: Algorithm<State>, cost: number) =>
    algorithm.step(algorithm.initial, NOW, cost)[1];

  test("is the furthest of that instant, and keeps its open receipts", () => {
    const furthest = minute.internals!.furthest!(NOW - BACK);
    const state = taken(minute, 10);
    assert.equal(boundedState(minute, state, NOW - BACK), furthest);
    const receipts = [0, 2, NOW + 60_000, 7];
    const held = boundedState(
      reservable(minute),
      openState(state, 3, 2, receipts),
      NOW - BACK,
    );
    assert.deepEqual(held, openState(furthest, 3, 2, receipts));
  });

  test("is so in one part of several, and the others stay as they are", () => {
    const both = all(minute, hour);
    assert.equal(longestReset(both), longestReset(hour));
    const state = taken(both, 1);
    const [, ofHour] = state as readonly unknown[];
    assert.equal(isAhead(both, state, NOW - BACK, MOST_AHEAD), true);
    assert.deepEqual(boundedState(both, state, NOW - BACK), [
      minute.internals!.furthest!(NOW - BACK),
      ofHour,
    ]);
  });
});
