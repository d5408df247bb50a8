import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";

import { algorithms } from "../../adapters/testing/mod.ts";
import { gcra, leakyQueue, limiter, memoryStore, slidingLog } from "../../mod.ts";
import { lease } from "../../stores/stores.ts";
import { promised } from "../support/promised_store.ts";
import { fcOptions } from "../support/seed.ts";

const hourly = gcra({ limit: 1, period: "1h", burst: 100 });

describe("lease", () => {
  test("takes a block at a time, and hands it out", () => {
    const shared = memoryStore();
    const store = lease(shared, { units: 10, ttl: "1m" });
    const api = limiter(hourly, { store, prefix: "a", clock: () => 0 });
    const exact = limiter(hourly, { store: shared, prefix: "a", clock: () => 0 });
    const seen = Array.from({ length: 12 }, () => {
      assert.equal(api.consume("k").allowed, true);
      return exact.peek("k", 0).remaining;
    });
    assert.deepEqual(seen, [...Array(10).fill(90), 80, 80]);
  });

  test("several of them together admit exactly the limit, to the last unit", () => {
    const sizes = fc.array(fc.integer({ min: 2, max: 64 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(sizes, fc.integer({ min: 1, max: 300 }), (units, burst) => {
        const shared = memoryStore();
        const algorithm = gcra({ limit: 1, period: "1h", burst });
        const limiters = units.map((size) =>
          limiter(algorithm, {
            store: lease(shared, { units: size, ttl: "1h" }),
            prefix: "a",
            clock: () => 0,
          })
        );
        let admitted = 0;
        for (let refused = 0; refused < limiters.length;) {
          refused = 0;
          for (const api of limiters) {
            if (api.consume("k").allowed) admitted++;
            else refused++;
          }
        }
        assert.equal(admitted, burst);
      }),
      fcOptions(),
    );
  });

  test("use in any span d is bounded by the policy over d + ttl", () => {
    const limit = 20;
    const period = 1_000;
    const moves = fc.array(fc.tuple(fc.nat({ max: 60 }), fc.nat({ max: 2 })), { maxLength: 400 });
    fc.assert(
      fc.property(moves, fc.integer({ min: 1, max: 400 }), (calls, ttl) => {
        let now = 1_790_000_000_000;
        const shared = memoryStore();
        const limiters = [0, 1, 2].map(() =>
          limiter(slidingLog({ limit, period }), {
            store: lease(shared, { units: 6, ttl }),
            prefix: "a",
            clock: () => now,
          })
        );
        const used: number[] = [];
        for (const [wait, place] of calls) {
          now += wait;
          for (let tries = 0; tries < 4; tries++) {
            if (limiters[place]!.consume("k").allowed) used.push(now);
          }
        }
        // A log admits `limit` in any period; a span of period - ttl lies in one of d + ttl.
        used.forEach((at, place) => {
          const later = used[place + limit];
          assert.ok(later === undefined || later - at >= period - ttl);
        });
      }),
      fcOptions(),
    );
  });

  test("never charges more than the store admits, whatever the algorithm", () => {
    fc.assert(
      fc.property(algorithms(), fc.integer({ min: 2, max: 9 }), ({ algorithm }, units) => {
        fc.pre(!algorithm.id.includes("leakyQueue"));
        const store = lease(memoryStore(), { units, ttl: 1_000 });
        const clock = () => 1_790_000_000_000;
        const api = limiter(algorithm, { store, prefix: "a", clock });
        let admitted = 0;
        for (let calls = 0; calls < 60; calls++) if (api.consume("k").allowed) admitted++;
        assert.equal(admitted, Math.min(60, algorithm.capacity));
      }),
      fcOptions(),
    );
  });

  test("loses what is left of a block when its time is over", () => {
    let now = 0;
    const store = lease(memoryStore(), { units: 10, ttl: 50 });
    const api = limiter(hourly, { store, prefix: "a", clock: () => now });
    api.consume("k");
    now = 49;
    api.consume("k");
    assert.equal(api.peek("k", 0).remaining, 90);
    now = 50;
    assert.equal(api.consume("k").remaining, 80);
  });

  test("lets a larger cost through to the store", () => {
    const store = lease(memoryStore(), { units: 10, ttl: "1m" });
    const api = limiter(hourly, { store, prefix: "a", clock: () => 0 });
    assert.equal(api.consume("k", 60).remaining, 40);
    assert.equal(api.consume("k", 41).allowed, false);
    assert.equal(api.consume("k", 40).allowed, true);
  });

  test("forgets its block with the key", () => {
    const store = lease(memoryStore(), { units: 10, ttl: "1m" });
    const api = limiter(hourly, { store, prefix: "a", clock: () => 0 });
    api.consume("k");
    api.reset("k");
    assert.equal(api.peek("k", 0).remaining, 100);
    api.consume("k");
    assert.equal(api.peek("k", 0).remaining, 90);
  });

  test("calls that come while a block is bought share it", async () => {
    const { store, held } = promised(memoryStore());
    const leased = lease(store, { units: 10, ttl: "1m" });
    const api = limiter(hourly, { store: leased, prefix: "a", clock: () => 0 });
    const calls = Array.from({ length: 10 }, () => api.consume("k"));
    assert.equal(held.count(), 1);
    held.release();
    const decisions = await Promise.all(calls);
    assert.ok(decisions.every(({ allowed }) => allowed));
    assert.equal(held.count(), 0);
  });

  test("does not accept what gives calls their places in time", () => {
    const store = lease(memoryStore(), { units: 10, ttl: "1m" });
    assert.throws(
      () => limiter(leakyQueue({ limit: 1, period: "1s", queue: 9 }), { store, prefix: "a" }),
      RangeError,
    );
  });

  for (const units of [0, 1, 2.5]) {
    test(`refuses blocks of ${units}`, () => {
      assert.throws(() => lease(memoryStore(), { units, ttl: "1s" }), RangeError);
    });
  }
});
