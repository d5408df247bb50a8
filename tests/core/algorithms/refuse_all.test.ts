import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { headerWriter } from "../../../adapters/http/http.ts";
import { algorithmLaws, type AlgorithmRule } from "../../../adapters/testing/testing.ts";
import {
  acquire,
  type Algorithm,
  all,
  calendarWindow,
  fixedWindow,
  gcra,
  leakyBucket,
  leakyQueue,
  limiter,
  lockout,
  memoryStore,
  RateLimitedError,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "../../../mod.ts";
import { sharedStore } from "../../../stores/shared/shared_store.ts";
import { denyCache, fallback, lease } from "../../../stores/layered/layered.ts";
import { fcOptions } from "../../support/seed.ts";

const none = { limit: 0, period: "1m" } as const;

const bucket = { ...none, burst: 0 } as const;

const algorithms: readonly Algorithm[] = [
  calendarWindow({ limit: 0, every: "month", zone: "Europe/Berlin" }),
  fixedWindow(none),
  gcra(bucket),
  gcra({ ...bucket, burst: 5 }),
  leakyBucket(bucket),
  leakyQueue({ ...none, queue: 3 }),
  lockout({ ...none, lock: "1h" }),
  slidingCounter(none),
  slidingLog(none),
  slidingWindow({ ...none, precision: "1s" }),
  tokenBucket(bucket),
  tokenBucket({ ...bucket, burst: 5, refill: "interval" }),
] as readonly Algorithm[];

/** The rule that all of them should follow. */
const rule: AlgorithmRule = {
  capacity: 0n,
  maxDebt: 0n,
  limit: () => 0,
  admits: (_use, _now, cost) => cost <= 0n,
  after: () => undefined,
  fresh: () => true,
};

describe("a limit of 0", () => {
  for (const algorithm of algorithms) {
    for (const law of algorithmLaws({ algorithm, rule })) {
      test(`${algorithm.id}: ${law.name}`, () => law.run(fcOptions({ numRuns: 10 })));
    }
  }

  test("refuses everything on every store, and keeps nothing", async () => {
    const memory = memoryStore();
    const stores = [
      memory,
      sharedStore({ capacity: 64, for: algorithms }),
      denyCache(memoryStore()),
      lease(memoryStore(), { units: 2, ttl: 50 }),
      fallback(memoryStore(), memoryStore(), { share: 0.5 }),
    ];
    for (const store of stores) {
      for (const algorithm of algorithms) {
        if (store === stores[3] && /^(leakyQueue|lockout)/.test(algorithm.id)) continue;
        const api = limiter(algorithm, { store, prefix: "a" });
        const { allowed, retryAfter, remaining, limit } = api.consume("key");
        assert.deepEqual([allowed, retryAfter, remaining, limit], [false, Infinity, 0, 0]);
        assert.equal(api.charge("key", 7).debt, 0);
        assert.equal(api.refund("key").remaining, 0);
        assert.equal(api.consume("key", 0).allowed, true);
        await assert.rejects(acquire(api, "key"), RateLimitedError);
      }
    }
    assert.equal(memory.statistics().keys, 0);
  });

  test("refuses as part of all, and takes nothing of the other parts", () => {
    const api = limiter(all(gcra({ limit: 5, period: "1m", burst: 5 }), fixedWindow(none)));
    const { allowed, retryAfter, parts } = api.consume("key");
    assert.deepEqual([allowed, retryAfter, parts?.[0]?.remaining], [false, Infinity, 5]);
  });

  test("takes over from older options, and hands over to newer ones", () => {
    const options = { store: memoryStore(), prefix: "a", clock: () => 1_000 };
    const five = gcra({ limit: 5, period: "1m", burst: 5 });
    limiter(five, options).consume("key", 3);
    for (const mode of ["keep", "proportional"] as const) {
      const off = limiter(gcra(bucket), { ...options, replaces: { algorithm: five, mode } });
      assert.equal(off.consume("key").allowed, false);
      const on = limiter(five, { ...options, replaces: { algorithm: gcra(bucket), mode } });
      assert.equal(on.consume("key", 2).allowed, mode === "keep");
    }
  });

  test("is written in header fields", () => {
    const [decision] = gcra(bucket).step(0, 0, 1);
    assert.deepEqual(headerWriter(gcra(bucket).policies)([decision], 0), [
      ["RateLimit-Policy", '"0-in-60s";q=0;w=60'],
      ["RateLimit", '"0-in-60s";r=0'],
    ]);
  });
});

test("no two parts of all have one name", () => {
  const twice = all(
    gcra({ limit: 5, period: "1m", burst: 5 }),
    slidingLog({ limit: 5, period: "1m" }),
  );
  assert.deepEqual(twice.policies.map(({ name }) => name), ["5-in-60s", "5-in-60s-2"]);
  const nested = all(twice, gcra({ limit: 1, period: "1s", burst: 1, name: "5-in-60s-2" }));
  const names = nested.policies.map(({ name }) => name);
  assert.equal(new Set(names).size, 3);
});
