import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";

import { algorithms, storeLaws } from "../../../adapters/testing/testing.ts";
import {
  consumeAll,
  gcra,
  type Limiter,
  limiter,
  memoryStore,
  reservable,
  reserve,
  settle,
  slidingLog,
} from "../../../mod.ts";
import { denyCache, type DenyCacheOptions, fallback } from "../../../stores/layered/layered.ts";
import { promised } from "../../support/promised_store.ts";
import { inOwnTime } from "../../support/real_time.ts";
import { fcOptions } from "../../support/seed.ts";
import { type Answers, atOnce, away, byPromise, byThenable, probe } from "./probe.ts";

const hourly = gcra({ limit: 1, period: "1h", burst: 3 });

/** Laws that compare whole answers, where a remembered one may carry an older balance. */
const WHOLE_ANSWERS = /the same answers|as if they came in some order|receipts are settled/;

for (const law of storeLaws(() => denyCache(memoryStore()))) {
  if (WHOLE_ANSWERS.test(law.name)) continue;
  test(`denyCache: ${law.name}`, () => law.run(fcOptions({ numRuns: 30 })));
}

/** A limiter on a cache of refusals, and the store under it. */
function caching(options: DenyCacheOptions = {}, answers = atOnce, clock = () => 0) {
  const inner = probe(answers);
  const store = denyCache(inner.store, options);
  return { inner, api: limiter(hourly, { store, prefix: "a", clock }) };
}

describe("denyCache", () => {
  test("gives the verdicts that the store would give, and its waits", () => {
    fc.assert(
      fc.property(algorithms(), plays(), ({ algorithm }, steps) => {
        let now = 1_790_000_000_000;
        const clock = () => now;
        const bare = limiter(algorithm, { store: memoryStore(), prefix: "a", clock });
        const cached = limiter(algorithm, { store: denyCache(memoryStore()), prefix: "a", clock });
        for (const { wait, key, action, cost } of steps) {
          now += wait;
          if (action === "reset") {
            bare.reset(key);
            cached.reset(key);
            continue;
          }
          const wanted = bare[action](key, cost);
          const given = cached[action](key, cost);
          assert.equal(given.allowed, wanted.allowed);
          assert.ok(given.remaining <= wanted.remaining);
          assert.ok(given.retryAfter <= wanted.retryAfter);
          assert.equal(given.retryAfter > 0, wanted.retryAfter > 0);
          if (wanted.allowed) assert.deepEqual(given, wanted);
        }
      }),
      fcOptions({ numRuns: 150 }),
    );
  });

  test("asks once for a refusal, and again when that cost could be admitted", () => {
    let now = 0;
    const { inner, api } = caching({}, atOnce, () => now);
    api.consume("k", 3);
    const { retryAfter } = api.consume("k");
    const before = inner.calls;
    now = retryAfter - 1;
    assert.equal(api.consume("k").retryAfter, 1);
    assert.equal(api.consume("k", 2).allowed, false);
    assert.equal(api.peek("k").allowed, false);
    assert.equal(inner.calls, before);
    assert.equal(api.peek("k", 4).retryAfter, Infinity);
    now = retryAfter;
    assert.equal(api.consume("k").allowed, true);
    assert.equal(inner.calls, before + 2);
  });

  test("forgets a refusal when units of a receipt are given back, or charged", () => {
    const store = denyCache(memoryStore());
    const api = limiter(reservable(hourly), { store, prefix: "a", clock: () => 0 });
    const { receipt } = reserve(api, "k", 3);
    const small = api.consume("k");
    assert.deepEqual([small.allowed, settle(api, "k", receipt!, 2).returned], [false, 1]);
    assert.equal(api.consume("k").allowed, true);
    const { retryAfter } = api.consume("k");
    api.charge("k", 1);
    assert.ok(api.consume("k").retryAfter > retryAfter);
  });

  test("keeps limiters apart, and holds no more refusals of all than it may", () => {
    const inner = probe(atOnce);
    const store = denyCache(inner.store, { maxKeys: 3 });
    const other = gcra({ limit: 2, period: "2h", burst: 2 });
    const limiters = [["a", hourly], ["b", hourly], ["a", other], ["a", hourly]] as const;
    const [a, b, c, again] = limiters.map(([prefix, algorithm]) =>
      limiter(algorithm, { store, prefix, clock: () => 0 })
    ) as [Limiter, Limiter, Limiter, Limiter];
    /** How many calls of each reach the store. */
    const reached = (...apis: readonly Limiter[]) =>
      apis.map(({ consume }) => {
        const before = inner.calls;
        consume("k");
        return inner.calls - before;
      });
    a.consume("k", 3);
    assert.deepEqual(reached(a, again, b, c, c, c, c), [1, 0, 1, 1, 1, 1, 0]);
    for (let calls = 0; calls < 3; calls++) b.consume("k");
    assert.deepEqual(reached(a, b, c), [0, 0, 0]);
    a.consume("l", 3);
    a.consume("l");
    // The first that was refused has given way.
    assert.deepEqual(reached(b, c, a, b, c), [0, 0, 1, 0, 1]);
    b.reset("k");
    assert.deepEqual(reached(a, c), [0, 0]);
  });

  test("remembers no key forever", () => {
    const { inner, api } = caching();
    for (const [length, calls] of [[1_024, 2], [1_025, 5]] as const) {
      const key = "k".repeat(length);
      api.consume(key, 3);
      for (let again = 0; again < 2; again++) assert.equal(api.consume(key).allowed, false);
      assert.equal(inner.calls, calls);
    }
  });

  for (const frees of ["refund", "resetPrefix"] as const) {
    test(`forgets a refusal that was under way during a ${frees}`, async () => {
      const { store, held } = promised(memoryStore());
      const api = limiter(hourly, { store: denyCache(store), prefix: "a" });
      const first = api.consume("k", 3);
      held.release();
      await first;
      // Refused before the units were free, answered after that.
      const refusal = api.consume("k");
      const freed = api[frees]("k");
      held.releaseLast();
      await freed;
      held.release();
      assert.equal((await refusal).allowed, false);
      const again = api.consume("k");
      held.release();
      assert.equal((await again).allowed, true);
    });
  }

  test("says the wait that a charge beside other calls has made longer", () => {
    const { inner, api } = caching();
    api.consume("k", 3);
    const { retryAfter } = api.consume("k");
    consumeAll([{ limiter: api, key: "k", cost: 2, charge: true }, { limiter: api, key: "l" }]);
    const before = inner.calls;
    assert.equal(api.consume("k").retryAfter, retryAfter + 2 * 3_600_000);
    assert.equal(inner.calls, before + 1);
  });

  test("does not use a refusal that was decided by another clock", () => {
    const inner = probe(atOnce);
    const options = { store: denyCache(inner.store), prefix: "a" };
    const later = limiter(hourly, { ...options, clock: () => 2_000_000_000_000 });
    later.consume("k", 3);
    later.consume("k");
    const before = inner.calls;
    limiter(hourly, options).consume("k");
    assert.equal(inner.calls, before + 1);
  });

  test("does not remember a refusal of another store in place of its own", () => {
    const inner = probe(atOnce);
    const store = denyCache(fallback(inner.store, memoryStore(), { share: 1 / 3 }));
    const api = limiter(hourly, { store, prefix: "a", clock: () => 0 });
    inner.failure = away;
    api.consume("k");
    assert.equal(api.consume("k").allowed, false);
    inner.failure = undefined;
    assert.equal(api.consume("k").allowed, true);
  });

  test("forgets a refusal that was answered before a refund under way was done", async () => {
    const waiting: (() => void)[] = [];
    const late: Answers = (make) =>
      new Promise((resolve) => waiting.push(() => resolve(make()))) as never;
    const { api } = caching({}, late);
    const first = api.consume("k", 3);
    waiting.shift()!();
    await first;
    const refund = api.refund("k");
    const refusal = api.consume("k");
    // The store takes the second call first.
    waiting.pop()!();
    assert.equal((await refusal).allowed, false);
    waiting.pop()!();
    await refund;
    const again = api.consume("k");
    waiting.pop()?.();
    assert.equal((await again).allowed, true);
  });

  test("with its own time, asks a millisecond early, and never announces too short a wait", () => {
    inOwnTime((time) => {
      const inner = probe(atOnce);
      const api = limiter(hourly, { store: denyCache(inner.store), prefix: "a" });
      time.passed = 0.5;
      api.consume("k", 3);
      const { retryAfter } = api.consume("k");
      const before = inner.calls;
      time.passed = 0.75;
      assert.equal(api.consume("k").retryAfter, retryAfter);
      time.passed = 1.5;
      assert.equal(api.consume("k").retryAfter, retryAfter - 1);
      time.passed = retryAfter - 0.75;
      assert.equal(api.consume("k").retryAfter, 2);
      assert.equal(inner.calls, before);
      // The store may have rounded its instant down.
      time.passed = retryAfter - 0.5;
      api.consume("k");
      assert.equal(inner.calls, before + 1);
    });
  });

  for (const [kind, answers] of [["promises", byPromise], ["thenables", byThenable]] as const) {
    test(`answers by a promise where the store answers by ${kind}, from memory`, async () => {
      const { inner, api } = caching({}, answers);
      await api.consume("k", 3);
      await api.consume("k");
      const known: unknown = api.consume("k");
      assert.ok(known instanceof Promise);
      assert.equal((await known).allowed, false);
      assert.equal(inner.calls, 2);
    });
  }

  test("does not remember use under older options that a look has seen", () => {
    const store = denyCache(memoryStore());
    let now = 0;
    const options = { store, prefix: "a", clock: () => now };
    const older = gcra({ limit: 5, period: "1m", burst: 5 });
    const replaces = { algorithm: older, mode: "keep" } as const;
    const api = limiter(slidingLog({ limit: 5, period: "1h" }), { ...options, replaces });
    limiter(older, options).consume("k", 5);
    assert.equal(api.peek("k").allowed, false);
    // Nothing was carried over then, and the use under the older options has drained since.
    now = 60_000;
    assert.equal(api.consume("k").allowed, true);
  });

  test("refuses less than one as maxKeys, and parts of one", () => {
    for (const maxKeys of [0, 1.5, -1]) {
      assert.throws(() => denyCache(memoryStore(), { maxKeys }), RangeError);
    }
  });
});

/** A step of a random play on one of two keys. */
interface Play {
  readonly wait: number;
  readonly key: "a" | "b";
  readonly action: "consume" | "peek" | "charge" | "refund" | "reset";
  readonly cost: number;
}

/** Random plays: mostly taking, more than the limits have. */
function plays(): fc.Arbitrary<readonly Play[]> {
  const action = fc.oneof(
    { weight: 12, arbitrary: fc.constant("consume" as const) },
    { weight: 3, arbitrary: fc.constant("peek" as const) },
    { weight: 1, arbitrary: fc.constant("charge" as const) },
    { weight: 1, arbitrary: fc.constant("refund" as const) },
    { weight: 1, arbitrary: fc.constant("reset" as const) },
  );
  return fc.array(
    fc.record({
      wait: fc.oneof(fc.constant(0), fc.nat({ max: 30 }), fc.nat({ max: 2_000 })),
      key: fc.constantFrom("a" as const, "b" as const),
      action,
      cost: fc.integer({ min: 1, max: 12 }),
    }),
    { minLength: 1, maxLength: 60, size: "max" },
  );
}
