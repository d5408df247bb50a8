import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";

import {
  type ClientNeeds,
  clientNeeds,
  fullest,
  SPANS,
} from "../../../../adapters/replay/advise/client_needs.ts";
import { type LogEntry, traceOf } from "../../../../adapters/replay/log/trace.ts";
import { fcOptions } from "../../../support/seed.ts";

const START = Date.UTC(2026, 2, 2);
const HOUR = 3_600_000;

/** The needs of a log's clients. One more request at either end makes the log two hours long. */
async function needsOf(instants: readonly number[], grain = 0, cost = 1): Promise<ClientNeeds> {
  const entries = instants.map((at): LogEntry => ({ at: START + at, key: "a", cost }));
  const ends = [0, 2 * HOUR].map((at): LogEntry => ({ at: START + at, key: "b", cost: 1 }));
  const trace = await traceOf("count needs", [...entries, ...ends], 10);
  // A log without costs has no column of them.
  return clientNeeds(cost === 1 ? { ...trace, cost: undefined } : trace, grain);
}

/** So many instants, one distance apart. */
function evenly(count: number, distance: number, from = 0): number[] {
  return Array.from({ length: count }, (_, row) => from + row * distance);
}

describe("the most of a client in a span", () => {
  const cost = fc.constantFrom(1, 3);
  const grain = fc.constantFrom(0, 1_000);
  // Distances that make requests lie a span apart, exactly.
  const instants = fc.array(fc.constantFrom(0, 1, 4_999, 5_000, 5_001, 10_000, 30_000, 600_000), {
    minLength: 1,
    maxLength: 20,
  }).map((distances) => {
    let at = 0;
    return distances.map((distance) => at += distance).filter((at) => at <= 2 * HOUR);
  });

  test("is what any window of that length holds, its end excluded", async () => {
    await fc.assert(
      fc.asyncProperty(instants, cost, grain, async (at, cost, grain) => {
        fc.pre(at.length > 0);
        const { most, spans } = await needsOf(at, grain, cost);
        assert.deepEqual(spans, SPANS);
        const counted = spans.map((span) =>
          Math.max(
            ...at.map((from) =>
              cost * at.filter((each) => each >= from && each < from + span + grain).length
            ),
          )
        );
        assert.deepEqual(most.map(([own]) => own), counted);
      }),
      fcOptions({ numRuns: 100 }),
    );
  });

  test("is counted in spans no longer than the log", async () => {
    const entries = [0, 180_000].map((at) => ({ at: START + at, key: "a", cost: 1 }));
    const { spans } = clientNeeds(await traceOf("count needs", entries, 10), 0);
    assert.deepEqual(spans, SPANS.filter((span) => span <= 180_000));
  });
});

test("a bucket is fullest where a run of requests leaves the least time to drain", () => {
  const at = Float64Array.of(0, 0, 1_000, 9_000, 9_000, 9_000);
  assert.equal(fullest({ at, cost: undefined }, 0.001), 3);
  assert.equal(fullest({ at, cost: Float64Array.of(1, 1, 1, 2, 2, 1) }, 0.0005), 5);
  assert.equal(fullest({ at: new Float64Array(), cost: undefined }, 1), 0);
});

describe("a steady pace", () => {
  const isSteady = async (at: readonly number[]) => (await needsOf(at)).steady[0] === 1;
  const seconds = (...counts: readonly number[]) =>
    counts.flatMap((count, second) => evenly(count, 900 / count, second * 1_000));

  test("is seventy requests in ten seconds, or more in longer spans", async () => {
    assert.deepEqual(await Promise.all([69, 70].map((count) => isSteady(evenly(count, 140)))), [
      false,
      true,
    ]);
    assert.equal(await isSteady(evenly(600, 6_000)), true);
    assert.equal(await isSteady(evenly(590, 6_100)), false);
  });

  test("has no pause of two seconds in ten, which anybody makes", async () => {
    assert.equal(await isSteady(seconds(9, 9, 9, 9, 0, 9, 9, 9, 9, 9)), true);
    // Their counts vary little enough.
    assert.equal(await isSteady(seconds(9, 9, 9, 0, 0, 9, 9, 9, 8, 8)), false);
  });

  test("has no bursts: seconds vary no more than twice as much as by chance", async () => {
    // By 9.6 around a mean of 9, and by 26.7.
    assert.equal(await isSteady(seconds(6, 12, 6, 12, 6, 12, 6, 12, 6, 12)), true);
    assert.equal(await isSteady(seconds(4, 14, 4, 14, 4, 14, 4, 14, 4, 14)), false);
  });
});

describe("equal distances", () => {
  const isRegular = async (at: readonly number[], grain = 0) =>
    (await needsOf(at, grain)).regular[0] === 1;

  test("are kept by twenty requests at least", async () => {
    assert.equal(await isRegular(evenly(20, 360_000)), true);
    assert.equal(await isRegular(evenly(19, 360_000)), false);
  });

  test("are kept for four fifths of the log", async () => {
    assert.equal(await isRegular(evenly(29, 205_715)), true);
    assert.equal(await isRegular(evenly(28, 205_715)), false);
  });

  test("are two seconds at least, and longer than times are inexact", async () => {
    assert.equal(await isRegular(evenly(3_600, 2_000)), true);
    assert.equal(await isRegular(evenly(3_601, 1_999)), false);
    assert.equal(await isRegular(evenly(1_800, 3_999), 1_000), false);
    assert.equal(await isRegular(evenly(1_800, 4_000), 1_000), true);
  });

  test("are those of nine in ten", async () => {
    const late = (every: number) =>
      evenly(120, 60_000).map((at, row) => row % every === 0 ? at + 20_000 : at);
    // Each late one changes two distances.
    assert.equal(await isRegular(late(24)), true);
    assert.equal(await isRegular(late(16)), false);
  });
});
