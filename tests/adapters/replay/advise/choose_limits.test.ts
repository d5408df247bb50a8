import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";

import {
  chooseLimits,
  limitOf,
  roomsUpTo,
  roundUpFinely,
  type Shape,
  shapesOf,
} from "../../../../adapters/replay/advise/choose_limits.ts";
import { clientNeeds, fullest } from "../../../../adapters/replay/advise/client_needs.ts";
import { type ClientRequests, traceOf } from "../../../../adapters/replay/log/trace.ts";
import { fcOptions } from "../../../support/seed.ts";

const MINUTE = 60_000;

/** The needs of ordinary clients: so many units at once, and so many a minute. */
function shape(limit: number, burst: number, period = MINUTE): Shape {
  return { period, rate: limit / period, burst };
}

/** Requests that come at these instants. */
function requests(at: readonly number[]): ClientRequests {
  return { at: Float64Array.from(at), cost: undefined };
}

/** So many requests at once. */
function atOnce(count: number): ClientRequests {
  return requests(Array<number>(count).fill(0));
}

/** A request at this interval, in milliseconds, for an hour. */
function every(distance: number): ClientRequests {
  return requests(
    Array.from({ length: Math.floor(60 * MINUTE / distance) }, (_, n) => n * distance),
  );
}

function choose(shapes: readonly (readonly Shape[])[], ...apart: readonly ClientRequests[]) {
  return chooseLimits(shapes, roomsUpTo(2), new Map(apart.entries()));
}

describe("the numbers of a limit", () => {
  test("are those whose sum is smallest", () => {
    const limit = limitOf([shape(60, 10), shape(30, 50)], 1, Math.ceil);
    assert.deepEqual(limit, { limit: 60, period: MINUTE, burst: 10 });
  });

  test("are rounded up to two digits, without what floats add", () => {
    const values = [0.2, 9.1, 10, 30.000000000000004, 30.1, 99.5, 101, 995];
    assert.deepEqual(values.map(roundUpFinely), [1, 10, 10, 30, 31, 100, 110, 1_000]);
  });
});

describe("the room that is left", () => {
  test("is the largest limit that refuses as many of the clients set aside", () => {
    const needed = [[shape(1, 10)]];
    for (const [count, headroom] of [[21, 2], [19, 1.75], [16, 1.5], [15, 1.4]] as const) {
      const choice = choose(needed, atOnce(count));
      assert.deepEqual([choice.headroom, choice.refused.size], [headroom, 1], `${count} at once`);
    }
  });

  test("is not given up where that refuses nobody", () => {
    const choice = choose([[shape(1, 10)]], atOnce(10));
    assert.deepEqual([choice.headroom, choice.refused.size], [2, 0]);
    assert.deepEqual(choice.limits, [{ limit: 2, period: MINUTE, burst: 20 }]);
  });
});

describe("what is chosen", () => {
  test("is a second limit if that refuses further clients of those set aside", () => {
    const short = shape(100, 10, 10_000);
    const long = shape(600, 100, 60 * MINUTE);
    const [burst, both, slow] = [atOnce(30), every(40), every(2_500)];
    const choice = choose([[short], [long]], burst, both, slow);
    assert.deepEqual(choice.limits.map(({ period }) => period), [10_000, 60 * MINUTE]);
    assert.deepEqual([...choice.refused].sort(), [0, 1, 2]);
    assert.equal(choose([[short], [long]], burst, both).limits.length, 1);
  });

  test("is another rate if the one with the smallest sum lets somebody through", () => {
    const rates = [[shape(60, 10), shape(30, 45)]];
    assert.equal(choose(rates).limits[0]!.limit, 120);
    const choice = choose(rates, every(750));
    assert.deepEqual(choice.limits, [{ limit: 60, period: MINUTE, burst: 100 }]);
    assert.deepEqual([choice.headroom, choice.refused.size], [2, 1]);
  });
});

test("at each rate, the burst is the need of all ordinary clients but the few that it may refuse", async () => {
  const log = fc.array(
    fc.record({
      at: fc.integer({ min: 0, max: 30 }).map((at) => at * 20_000),
      key: fc.constantFrom("a", "b", "c", "d", "e"),
      cost: fc.integer({ min: 1, max: 4 }),
    }),
    { minLength: 1, maxLength: 40 },
  );
  const given = fc.record({
    refused: fc.integer({ min: 0, max: 2 }),
    least: fc.constantFrom(0, 3),
    grain: fc.constantFrom(0, 1_000),
    outside: fc.constantFrom("a", "f"),
    wanted: fc.constantFrom([60_000], [60_000, 600_000, 10_000]),
  });
  await fc.assert(
    fc.asyncProperty(log, given, async (entries, { refused, least, grain, outside, wanted }) => {
      const ends = [0, 900_000].map((at) => ({ at, key: "f", cost: 1 }));
      const all = [...entries, ...ends];
      const trace = await traceOf("find shapes", all, 10);
      const ordinary = Uint8Array.from(trace.clients, (key) => key === outside ? 0 : 1);
      const admitted = { ordinary, refused, least };
      const periods = shapesOf(trace, clientNeeds(trace, grain), admitted, grain, wanted);
      assert.deepEqual(periods.map(([first]) => first!.period), wanted);
      for (const { rate, burst } of periods.flat()) {
        const bursts = trace.clients.filter((key) => key !== outside).map((key) => {
          const own = all.filter((entry) => entry.key === key).sort((one, two) => one.at - two.at);
          const cost = Float64Array.from(own, ({ cost }) => cost);
          return fullest({ at: Float64Array.from(own, ({ at }) => at), cost }, rate);
        });
        const needed = bursts.sort((one, two) => two - one)[refused] ?? 0;
        assert.ok(Math.abs(burst - Math.max(least, needed) - rate * grain) < 1e-9);
      }
    }),
    fcOptions({ numRuns: 100 }),
  );
});
