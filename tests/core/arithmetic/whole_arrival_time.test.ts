import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { arrivalTime, startTime } from "../../../core/arithmetic/arrival_time.ts";
import { buildAlgorithm } from "../../../core/algorithms/build_algorithm.ts";
import { wholeTicks } from "../../../core/arithmetic/ticks.ts";
import { freshInstant } from "../../../core/arithmetic/fresh_instant.ts";
import {
  giveBackInPlace,
  takeInPlace,
  wholeArrivalTime,
} from "../../../core/arithmetic/whole_arrival_time.ts";
import { fcOptions } from "../../support/seed.ts";

const scales = fc.record({
  limit: fc.integer({ min: 1, max: 2_000 }),
  perMillisecond: fc.integer({ min: 1, max: 2_000 }),
  interval: fc.integer({ min: 1, max: 1_000_000 }),
  capacity: fc.integer({ min: 1, max: 1_000 }),
  maxDebt: fc.integer({ min: 0, max: 1_000 }),
  queue: fc.integer({ min: 0, max: 1_000 }),
});

const calls = fc.array(
  fc.record({
    // Use is often given back to the last tick: at the same instant, as much as was taken.
    gap: fc.oneof(fc.constant(0), fc.integer({ min: -2_000, max: 1_000_000 })),
    cost: fc.oneof(fc.integer({ min: -1, max: 1 }), fc.integer({ min: -1_002, max: 1_002 })),
  }),
  { maxLength: 40 },
);

test("the reducer written out answers as the one by its accounting", () => {
  fc.assert(
    fc.property(scales, calls, (drawn, calls) => {
      const { limit, perMillisecond, interval, capacity, maxDebt } = drawn;
      const queue = Math.min(drawn.queue, capacity - 1);
      const mostUse = capacity + maxDebt;
      const scale = wholeTicks(perMillisecond);
      const arrivals = arrivalTime(scale, interval, capacity, mostUse);
      const accounting = queue > 0 ? startTime(arrivals, queue) : arrivals;
      const general = buildAlgorithm({
        name: undefined,
        id: ["general"],
        limit,
        period: 1,
        capacity,
        mostUse,
        initial: 0,
        accounting,
        codec: scale.codec,
      }).internals!.halves!;
      const rate = { limit, perMillisecond, interval, capacity, mostUse, queue };
      const written = wholeArrivalTime(rate);
      let tat = 0;
      let now = 1_700_000_000_000;
      for (const { gap, cost } of calls) {
        now += gap;
        const next = general.take(tat, now, cost);
        const decision = general.decide(tat, next, now, cost);
        assert.equal(written.take(tat, now, cost), next);
        assert.deepEqual(written.decide(tat, next, now, cost), decision);
        if (cost > 0) {
          const cells = Float64Array.of(tat, -1);
          assert.deepEqual(takeInPlace(rate, cells, 0, now, cost), decision);
          const freshAt = freshInstant(now, decision, { capacity: rate.capacity, parts: [] });
          assert.deepEqual([...cells], next === tat ? [tat, -1] : [next, freshAt]);
        } else if (cost < 0) {
          const cells = Float64Array.of(tat, -1);
          const isOver = tat <= now * perMillisecond;
          const isGone = next === 0 && !isOver;
          const expected = isGone ? undefined : decision;
          assert.deepEqual(giveBackInPlace(rate, cells, 0, now, -cost), expected);
          const freshAt = freshInstant(now, decision, { capacity: rate.capacity, parts: [] });
          assert.deepEqual([...cells], isGone ? [tat, -1] : [next, isOver ? -1 : freshAt]);
        }
        tat = next;
      }
    }),
    fcOptions({ numRuns: 500 }),
  );
});
