/*
 * A rate with receipts, beside the fold that it is: T <- max(T, t) + cost over its calls, each at what
 * it cost by now. A unit takes a millisecond, so that every number is whole.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";

import { NO_CALL_SINCE } from "../../../core/arithmetic/returns.ts";
import {
  afterUse,
  MOST_RUNS,
  runOf,
  widthOf,
  withReceipt,
} from "../../../core/receipts/open_receipts.ts";
import { gcra, limiter, type Receipt, reservable, reserve, settle } from "../../../mod.ts";
import { fcOptions } from "../../support/seed.ts";

const BURST = 60;
const START = 1_790_000_000_000;
const algorithm = reservable(gcra({ limit: 1_000, period: "1s", burst: BURST }), { within: "1h" });

interface Call {
  readonly at: number;
  cost: number;
}

/** Units in use after these calls. */
function used(calls: readonly Call[], now: number): number {
  let end = 0;
  for (const { at, cost } of calls) end = Math.max(end, at) + cost;
  return Math.max(0, end - now);
}

test("a rate is the fold of what its calls cost by now, settled in any order, at any time", () => {
  const act = fc.record({
    does: fc.constantFrom("reserve", "reserve", "settle", "settle", "consume", "charge"),
    gap: fc.oneof(fc.constant(0), fc.nat(9)),
    cost: fc.integer({ min: 1, max: 20 }),
    pick: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(act, { minLength: 20, maxLength: 30 }), (acts) => {
      let now = START;
      const api = limiter(algorithm, { clock: () => now, prefix: "fold" });
      const calls: Call[] = [];
      const open: { readonly call: Call; readonly receipt: Receipt }[] = [];
      for (const { does, gap, cost, pick } of acts) {
        now += gap;
        const call = { at: now, cost };
        if (does === "settle") {
          if (open.length === 0) continue;
          const [{ call, receipt }] = open.splice(pick % open.length, 1) as [typeof open[0]];
          // A third of the calls used more than they took.
          const units = pick % 3 === 0 ? receipt.units + cost : cost % (receipt.units + 1);
          assert.equal(settle(api, "key", receipt, units).outcome, "settled");
          call.cost = Math.min(units, receipt.units);
          if (units > receipt.units) calls.push({ at: now, cost: units - receipt.units });
        } else if (does === "reserve") {
          const { receipt } = reserve(api, "key", cost);
          if (receipt === undefined) continue;
          calls.push(call);
          open.push({ call, receipt });
        } else if (api[does as "consume" | "charge"]("key", cost).allowed) calls.push(call);
        const { remaining, debt } = api.peek("key", 0);
        assert.equal(BURST - remaining + debt, used(calls, now));
      }
    }),
    fcOptions({ numRuns: 1_000 }),
  );
});

describe("a key with open receipts", () => {
  test("has the plain state again once all are settled, and a fresh one if nothing is in use", () => {
    const api = limiter(algorithm, { clock: () => START, prefix: "plain" });
    const receipts = [9, 5].map((cost) => reserve(api, "key", cost).receipt!);
    for (const receipt of receipts) settle(api, "key", receipt, 0);
    assert.equal(api.store.statistics().keys, 0);
  });

  test("takes use beyond a receipt as a later call", () => {
    let now = START;
    const api = limiter(algorithm, { clock: () => now, prefix: "beyond" });
    const [first, second] = [20, 1].map((cost) => reserve(api, "key", cost).receipt!);
    now += 10;
    settle(api, "key", second!, 6);
    // The five units beyond found 11 in use. The calls now cost 0 and 1, which has drained, and 5.
    assert.equal(settle(api, "key", first!, 0).returned, 11);
    assert.equal(api.peek("key", 0).remaining, BURST - 5);
  });

  test("gives nothing back without a receipt", () => {
    const { receipts } = algorithm.internals!;
    const [, taken] = algorithm.step(algorithm.initial, START, 9);
    const held = receipts!.issue(taken, START, 1);
    assert.equal(algorithm.step(held, START, -9)[1], held);
    assert.equal(algorithm.charge(held, START, -9)[1], held);
  });

  test("keeps receipts that have met the same use in one run", () => {
    const end = START + 1_000;
    const open = [0, 1, end, 3, 1, 2, end, 5, 2, 3, end, NO_CALL_SINCE];
    assert.deepEqual(afterUse(open, widthOf(1), 0, 5), [0, 1, end, 3, 1, 3, end, 5]);
  });

  test("joins the two neighbours whose lags are nearest, with the lower lag, if it has too many runs", () => {
    const width = widthOf(1);
    const open: number[] = [];
    for (let run = 0; run < MOST_RUNS; run++) {
      // The lags of the runs 99 and 100 differ by 1, and those of any others by 10.
      open.push(run, run + 1, START + 1_000, 10 * run - (run > 99 ? 9 : 0));
    }
    const next = withReceipt(open, width, MOST_RUNS, START + 1_000, START);
    assert.equal(next.length, MOST_RUNS * width);
    const joined = 99 * width;
    assert.deepEqual(next.slice(joined, joined + width), [99, 101, START + 1_000, 990]);
    for (const number of [0, 99, 100, MOST_RUNS]) assert.notEqual(runOf(next, width, number), -1);
  });
});
