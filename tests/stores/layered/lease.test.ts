import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";

import { algorithms } from "../../../adapters/testing/testing.ts";
import {
  type Algorithm,
  all,
  type AsyncLimiter,
  type AsyncStore,
  type Decision,
  gcra,
  leakyQueue,
  type Limiter,
  limiter,
  lockout,
  memoryStore,
  slidingLog,
  type SyncStore,
} from "../../../mod.ts";
import { scaleAlgorithm } from "../../../core/algorithms/scale_algorithm.ts";
import { internalsOf } from "../../../core/limiter/limiter_internals.ts";
import { refund } from "../../../core/verbs/refund.ts";
import { wrapStore } from "../../../core/wrap_store.ts";
import { andThen } from "../../../core/maybe_promise.ts";
import { lease, type LeaseOptions } from "../../../stores/layered/layered.ts";
import { promised } from "../../support/promised_store.ts";
import { fcOptions } from "../../support/seed.ts";
import { type Answers, away, byPromise, hourly, probe } from "./probe.ts";
import { interceptedStore } from "../../support/intercepted_store.ts";

/** The rest of this turn of the event loop. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const TEN = { units: 10, ttl: "1m" } as const;

/** A limiter by blocks on a store; at an instant that stays, without a clock. */
function leased<S extends SyncStore | AsyncStore>(
  store: S,
  block: LeaseOptions = TEN,
  algorithm: Algorithm = hourly,
  clock = () => 0,
): S extends SyncStore ? Limiter : AsyncLimiter {
  return limiter(algorithm, {
    store: lease(store as SyncStore, block),
    prefix: "a",
    clock,
  }) as never;
}

/** A limiter by blocks of ten, and a limiter on the same store that sees its charges. */
function leasing() {
  const store = memoryStore();
  return { api: leased(store), exact: limiter(hourly, { store, prefix: "a", clock: () => 0 }) };
}

/** A limiter by blocks of ten on a store whose answers are held back. */
function leasingLater(algorithm: Algorithm = hourly) {
  const { store, held } = promised(memoryStore());
  return { api: leased(store, TEN, algorithm), held };
}

describe("lease", () => {
  test("leaves the units of a call that failed to the next one", () => {
    let calls = 0;
    const store = wrapStore(memoryStore(), {
      call: (bound) => (...request) => {
        if (++calls === 4) throw away;
        return bound.call(...request);
      },
    }) as SyncStore;
    const api = leased(store, TEN, gcra({ limit: 1, period: "1h", burst: 25 }));
    api.consume("k", 10);
    api.consume("k");
    // Nine units of the block; a second one is refused, and the store fails at the unit that lacks.
    assert.throws(() => api.consume("k", 10), away);
    assert.equal(api.consume("k", 9).allowed, true);
    assert.equal(calls, 4);
  });

  for (const reset of ["reset", "resetPrefix"] as const) {
    test(`uses no block that the store took before a ${reset} under way`, async () => {
      const waiting: (() => void)[] = [];
      const late: Answers = (make) =>
        new Promise((resolve) => waiting.push(() => resolve(make()))) as never;
      const api = leased(probe(late).store as unknown as AsyncStore);
      const forgotten = api[reset]("k");
      // The store takes both calls first. The block of the second has a unit left.
      for (let calls = 0; calls < 2; calls++) {
        const call = api.consume("k");
        waiting.pop()!();
        await call;
      }
      waiting.pop()!();
      await forgotten;
      const next = api.consume("k");
      assert.equal(waiting.length, 1);
      waiting.pop()!();
      await next;
    });
  }

  /** Costs of calls, and the units left in the store after each. */
  const taken: Readonly<Record<string, readonly (readonly [cost: number, left: number])[]>> = {
    "takes blocks that grow up to their most, and hands them out": [
      [1, 99],
      ...Array<[number, number]>(2).fill([1, 97]),
      ...Array<[number, number]>(4).fill([1, 93]),
      ...Array<[number, number]>(8).fill([1, 85]),
      ...Array<[number, number]>(10).fill([1, 75]),
      [1, 65],
    ],
    "keeps a block when a larger call needs one of its own": [
      [10, 90],
      [1, 80],
      [10, 70],
      [1, 70],
      [10, 60],
      [8, 60],
    ],
    "lets a larger cost through to the store": [[60, 40], [40, 0]],
  };
  for (const [name, calls] of Object.entries(taken)) {
    test(name, () => {
      const { api, exact } = leasing();
      for (const [cost, left] of calls) {
        assert.equal(api.consume("k", cost).allowed, true);
        assert.equal(exact.peek("k", 0).remaining, left);
      }
      assert.equal(api.consume("k", 101).allowed, false);
    });
  }

  test("admits as many calls of a cost as the limit has, whatever the block", () => {
    const numbers = fc.record({
      units: fc.integer({ min: 2, max: 30 }),
      cost: fc.integer({ min: 1, max: 30 }),
      burst: fc.integer({ min: 1, max: 300 }),
    });
    fc.assert(
      fc.property(numbers, ({ units, cost, burst }) => {
        const algorithm = gcra({ limit: 1, period: "1h", burst });
        const api = leased(memoryStore(), { units, ttl: "1h" }, algorithm);
        let admitted = 0;
        while (api.peek("k", cost).allowed) {
          assert.equal(api.consume("k", cost).allowed, true);
          admitted++;
        }
        assert.equal(api.consume("k", cost).allowed, false);
        assert.equal(admitted, Math.floor(burst / cost));
      }),
      { ...fcOptions(), examples: [[{ units: 10, cost: 6, burst: 100 }]] },
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
        const log = slidingLog({ limit, period });
        const limiters = [0, 1, 2].map(() => leased(shared, { units: 6, ttl }, log, () => now));
        const used: number[] = [];
        for (const [wait, index] of calls) {
          now += wait;
          for (let tries = 0; tries < 4; tries++) {
            if (limiters[index]!.consume("k").allowed) used.push(now);
          }
        }
        // A log admits `limit` in any period; a span of period - ttl lies in one of d + ttl.
        used.forEach((at, index) => {
          const later = used[index + limit];
          assert.ok(later === undefined || later - at >= period - ttl);
        });
      }),
      fcOptions(),
    );
  });

  test("never charges more than the store admits, whatever the algorithm", () => {
    fc.assert(
      fc.property(algorithms(), fc.integer({ min: 2, max: 9 }), ({ algorithm }, units) => {
        fc.pre(!/leakyQueue|lockout/.test(algorithm.id));
        const clock = () => 1_790_000_000_000;
        const api = leased(memoryStore(), { units, ttl: 1_000 }, algorithm, clock);
        let admitted = 0;
        for (let calls = 0; calls < 60; calls++) if (api.consume("k").allowed) admitted++;
        assert.equal(admitted, Math.min(60, algorithm.capacity));
      }),
      fcOptions(),
    );
  });

  test("admits no more than the limit, however much is given back", () => {
    const act = fc.record({ takes: fc.boolean(), units: fc.integer({ min: 1, max: 12 }) });
    fc.assert(
      fc.property(fc.array(act, { maxLength: 30 }), fc.boolean(), (acts, atOnce) => {
        const { store } = probe();
        const api = leased(store, TEN, gcra({ limit: 20, period: "1h", burst: 20 }));
        let used = 0;
        for (const { takes, units } of acts) {
          if (takes) used += api.consume("k", units).allowed ? units : 0;
          else {
            used = Math.max(0, used - units);
            if (atOnce) api.refund("k", units);
            else {api.store.run([{
                bound: internalsOf(api)!.family.bind(refund),
                key: "k",
                argument: units,
              }], 0);}
          }
          assert.ok(used <= 20, `${used} of 20 in use`);
        }
      }),
      fcOptions({ numRuns: 60 }),
    );
  });

  test("loses the rest of a block when its time is over", () => {
    let now = 0;
    const api = leased(memoryStore(), { units: 10, ttl: 50 }, hourly, () => now);
    api.consume("k", 10);
    api.consume("k");
    now = 49;
    api.consume("k");
    assert.equal(api.peek("k", 0).remaining, 80);
    now = 50;
    // The next one has as many units as were used.
    assert.equal(api.consume("k").remaining, 78);
  });

  test("calls at once that need several blocks ask for all of them at once", async () => {
    const { api, held } = leasingLater();
    const calls = Array.from({ length: 92 }, () => api.consume("k"));
    assert.equal(held.count(), 12);
    held.release();
    const decisions = await Promise.all(calls);
    assert.ok(decisions.every(({ allowed }) => allowed));
    assert.deepEqual(decisions.slice(-5).map(({ remaining }) => remaining), [10, 10, 10, 9, 8]);
    const others = await Promise.all(Array.from({ length: 3 }, () => api.consume("k")));
    assert.ok(others.every(({ allowed }) => allowed));
    assert.equal(held.count(), 0);
  });

  test("if the store refuses a block, each of its calls asks once for its own units", async () => {
    const { api, held } = leasingLater(gcra({ limit: 1, period: "1h", burst: 15 }));
    const calls = Array.from({ length: 30 }, () => api.consume("k"));
    assert.equal(held.count(), 6);
    held.release();
    await turn();
    assert.equal(held.count(), 15);
    held.release();
    const decisions = await Promise.all(calls);
    assert.deepEqual(decisions.map(({ allowed }) => allowed), [
      ...Array(15).fill(true),
      ...Array(15).fill(false),
    ]);
    api.consume("k");
    assert.equal(held.count(), 1);
  });

  test("a store that fails is asked once for each block, and no call is left waiting", async () => {
    const first = probe(byPromise);
    first.failure = away;
    const api = leased(first.store);
    const calls = Array.from({ length: 100 }, () => api.consume("k"));
    for (const { status } of await Promise.allSettled(calls)) assert.equal(status, "rejected");
    assert.equal(first.calls, 13);
    await assert.rejects((async () => await api.consume("k"))(), away);
    assert.equal(first.calls, 14);
  });

  for (const allowed of [true, false]) {
    test(`hands out nothing of a policy that ${allowed ? "allows" : "denies"}`, async () => {
      const first = probe(byPromise);
      const policy = (decision: Decision): Decision => ({ ...decision, allowed, source: "policy" });
      const store = interceptedStore(
        first.store,
        (_calls, proceed) => andThen(proceed(), (all) => (all as Decision[]).map(policy)),
      );
      const api = leased(store);
      const decisions = await Promise.all(Array.from({ length: 100 }, () => api.consume("k")));
      assert.ok(decisions.every((one) => one.source === "policy" && one.allowed === allowed));
      assert.equal(first.calls, 13);
      assert.equal((await api.consume("k")).source, "policy");
      assert.equal(first.calls, 14);
    });
  }

  test("several of them together admit exactly the limit, however late the store answers", () => {
    const crowds = fc.array(fc.tuple(fc.nat({ max: 40 }), fc.integer({ min: 1, max: 9 })), {
      minLength: 1,
      maxLength: 30,
    });
    const sizes = fc.array(fc.integer({ min: 2, max: 32 }), { minLength: 1, maxLength: 4 });
    return fc.assert(
      fc.asyncProperty(
        crowds,
        sizes,
        fc.integer({ min: 1, max: 200 }),
        async (counts, sizes, burst) => {
          const { store, held } = promised(memoryStore());
          const algorithm = gcra({ limit: 1, period: "1h", burst });
          const limiters = sizes.map((units) => leased(store, { units, ttl: "1h" }, algorithm));
          function crowd(index: number, count: number, cost: number): Promise<number>[] {
            const api = limiters[index % limiters.length]!;
            return Array.from({ length: count }, async () => {
              const { allowed } = await api.consume("k", cost);
              return allowed ? cost : 0;
            });
          }
          async function admittedOf(calls: Promise<number>[]): Promise<number> {
            let answered = false;
            const answers = Promise.all(calls).finally(() => answered = true);
            while (!answered) {
              held.release();
              await turn();
            }
            return (await answers).reduce((sum, units) => sum + units, 0);
          }

          const first = counts.flatMap(([count, cost], index) => {
            if (index % 3 === 2) held.releaseLast();
            if (index % 5 === 4) held.release();
            return crowd(index, count, cost);
          });
          let admitted = await admittedOf(first);
          assert.ok(admitted <= burst);
          // The blocks are then used up, until every call is refused.
          for (let more = 1; more > 0; admitted += more) {
            more = await admittedOf(limiters.flatMap((_, index) => crowd(index, 1, 1)));
          }
          assert.equal(admitted, burst);
        },
      ),
      fcOptions({ numRuns: 50 }),
    );
  });

  test("peek answers what consume would, also from a block", () => {
    const api = leased(memoryStore(), TEN, gcra({ limit: 1, period: "1h", burst: 10 }));
    api.consume("k");
    const look = api.peek("k", 2);
    assert.equal(look.remaining, 7);
    assert.deepEqual(api.consume("k", 2), look);
  });

  test("does not mix a limiter's clock with the time of one without", () => {
    const shared = memoryStore();
    const store = lease(shared, { units: 10, ttl: "1h" });
    const later = limiter(hourly, { store, prefix: "a", clock: () => 4_000_000_000_000 });
    while (later.consume("k").allowed);
    limiter(hourly, { store: shared, prefix: "a" }).reset("k");
    const now = limiter(hourly, { store, prefix: "a" });
    now.consume("k");
    assert.equal(limiter(hourly, { store: shared, prefix: "a" }).peek("k", 0).remaining, 99);
  });

  test("holds no key forever", () => {
    const { api, exact } = leasing();
    const left = [1_024, 1_025].map((length) => {
      for (const cost of [5, 1]) api.consume("k".repeat(length), cost);
      return exact.peek("k".repeat(length), 0).remaining;
    });
    assert.deepEqual(left, [85, 94]);
  });

  test("does not accept an algorithm that delays calls", () => {
    const queue = leakyQueue({ limit: 1, period: "1s", queue: 9 });
    assert.throws(() => leased(memoryStore(), TEN, queue), {
      name: "RangeError",
      message:
        "Cannot create limiter on lease as its algorithm must start calls at once, without " +
        'a delay: current value is "leakyQueue/1/1000"',
    });
  });

  test("does not accept an algorithm that a block would lock", () => {
    const guesses = lockout({ limit: 5, period: "1m", lock: "1h" });
    for (const algorithm of [guesses, all(hourly, guesses), scaleAlgorithm(guesses, 0.5)]) {
      assert.throws(() => leased(memoryStore(), TEN, algorithm), /must not be lockout/);
    }
  });

  test("leaves a unit of a limit that one block would fill", () => {
    const store = memoryStore();
    const few = gcra({ limit: 5, period: "1h", burst: 5 });
    const api = leased(store, TEN, few);
    api.consume("k", 2);
    api.refund("k", 2);
    api.consume("k");
    const exact = limiter(few, { store, prefix: "a", clock: () => 0 });
    assert.equal(exact.peek("k", 0).remaining, 1);
  });

  test("has no block in the time before it was requested", () => {
    let now = 100_000;
    const store = memoryStore();
    const api = leased(store, { units: 10, ttl: 50 }, hourly, () => now);
    api.consume("k", 10);
    api.consume("k");
    now = 0;
    api.consume("k");
    const exact = limiter(hourly, { store, prefix: "a", clock: () => 100_000 });
    assert.equal(exact.peek("k", 0).remaining, 79);
  });

  test("refuses blocks of less than two units, and of parts of one", () => {
    for (const units of [0, 1, 2.5]) {
      assert.throws(() => lease(memoryStore(), { units, ttl: "1s" }), RangeError);
    }
  });
});

test("the remaining units of all over a lease are the fewest of any part", () => {
  const store = lease(memoryStore(), { units: 4, ttl: "1m" });
  const part = (limit: number) => slidingLog({ limit, period: "1h" });
  const api = limiter(all(part(6), part(8)), { store, prefix: "api", clock: () => 1_000 });
  for (let call = 0; call < 14; call++) {
    for (const { remaining, parts } of [api.consume("key"), api.peek("key", 0)]) {
      assert.equal(remaining, Math.min(...parts!.map((part) => part.remaining)));
    }
  }
});
