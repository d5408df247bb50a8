/*
 * Limiters with different limits on the same keys: the store may prefer another form of a state for
 * each of them, and every one must go on with what the others have written.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";

import {
  type Algorithm,
  all,
  blockable,
  calendarWindow,
  fixedWindow,
  gcra,
  limiter,
  lockout,
  memoryStore,
  slidingCounter,
  slidingLog,
  slidingWindow,
} from "../../../mod.ts";
import { sharedStore } from "../../../stores/shared/shared_store.ts";
import { fcOptions } from "../../support/seed.ts";

/** Limits for which the forms differ: by the units of a number, of a sum and of a log. */
const LIMITS = [3, 200, 5_000, 60_000, 2 ** 31];

const MAKERS: Readonly<Record<string, (limit: number) => Algorithm>> = {
  fixedWindow: (limit) => fixedWindow({ limit, period: "1m" }),
  "fixedWindow, from the first call": (limit) =>
    fixedWindow({ limit, period: "1m", anchor: "first" }),
  calendarWindow: (limit) => calendarWindow({ limit, every: "hour", zone: "UTC" }),
  slidingCounter: (limit) => slidingCounter({ limit, period: "1m" }),
  "slidingWindow of few buckets": (limit) =>
    slidingWindow({ limit, period: "1m", precision: "6s" }),
  "slidingWindow of many buckets": (limit) =>
    slidingWindow({ limit, period: "1m", precision: "10ms" }),
  slidingLog: (limit) => slidingLog({ limit: Math.min(limit, 60_000), period: "1m" }),
  lockout: (limit) => lockout({ limit, period: "1m", lock: "2m" }),
  "all of numbers": (limit) =>
    all(
      gcra({ limit: 10, period: "1s", burst: limit }),
      fixedWindow({ limit, period: "1m", anchor: "first" }),
    ),
  "all of a window and a log": (limit) =>
    all(
      fixedWindow({ limit, period: "1m", anchor: "first" }),
      slidingLog({ limit: Math.min(limit, 60_000), period: "1m" }),
    ),
  "all of a blockable log": (limit) =>
    all(
      blockable(slidingLog({ limit: Math.min(limit, 300), period: "1m" })),
      fixedWindow({ limit, period: "1m" }),
    ),
  "a blockable window": (limit) => blockable(fixedWindow({ limit, period: "1m", anchor: "first" })),
};

const calls = fc.array(
  fc.record({
    at: fc.nat(LIMITS.length - 1),
    wait: fc.oneof(fc.nat(30), fc.nat(30_000)),
    verb: fc.constantFrom("consume", "consume", "consume", "charge", "refund", "peek", "reset"),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    runs: fc.integer({ min: 1, max: 20 }),
  }),
  { minLength: 4, maxLength: 40 },
);

describe("keys that limiters with different limits share in shared memory", () => {
  for (const [name, make] of Object.entries(MAKERS)) {
    test(name, async () => {
      const algorithms = LIMITS.map(make);
      const store = sharedStore({ capacity: 64, for: algorithms });
      let round = 0;
      fc.assert(
        fc.property(calls, (calls) => {
          let now = 1_764_000_000_000;
          const options = { prefix: `round ${round++}`, clock: () => now };
          const inMemory = memoryStore();
          const pairs = algorithms.map((algorithm) =>
            [store, inMemory].map((store) => limiter(algorithm, { ...options, store }))
          );
          for (const { at, wait, verb, share, runs } of calls) {
            const cost = Math.max(1, Math.floor(share * share * algorithms[at]!.capacity));
            for (let run = 0; run < runs; run++) {
              now += wait;
              const [shared, expected] = pairs[at]!.map((api) =>
                verb === "reset" ? api.reset("key") : api[verb as "consume"]("key", cost)
              );
              assert.deepEqual(shared, expected, `${verb} ${cost} of ${algorithms[at]!.capacity}`);
            }
          }
          for (const [shared] of pairs) shared!.reset("key");
        }),
        fcOptions({ numRuns: 60 }),
      );
      await store.close();
    });
  }

  test("a log grows beyond the form of the limiter that began it, and shrinks again", async () => {
    const algorithms = [3, 5_000, 150].map((limit) => slidingLog({ limit, period: "1m" }));
    let now = 1_764_000_000_000;
    const options = { prefix: "log", clock: () => now };
    const store = sharedStore({ capacity: 4, for: algorithms });
    const inMemory = memoryStore();
    const apis = algorithms.map((algorithm) =>
      [store, inMemory].map((store) => limiter(algorithm, { ...options, store }))
    );
    for (let call = 0; call < 9_000; call++) {
      now += call < 5_000 ? 1 : 40;
      const at = call < 2 ? 0 : call < 5_000 ? 1 : 2;
      const [shared, expected] = apis[at]!.map((api) => api.consume("key"));
      assert.deepEqual(shared, expected, `call ${call}`);
    }
    await store.close();
  });
});
