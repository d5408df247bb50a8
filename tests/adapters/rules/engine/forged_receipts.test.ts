import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import {
  type LimitOptions,
  ruleEngine,
  type RuleReceipt,
} from "../../../../adapters/rules/rules.ts";
import { dump, memoryStore, restore } from "../../../../mod.ts";
import { fcOptions } from "../../../support/seed.ts";

const rate = { limit: 10, period: "1m" } as const;
const LIMITS: readonly LimitOptions[] = [
  { ...rate, burst: 5 },
  { ...rate, algorithm: "tokenBucket", burst: 10, refill: "interval" },
  { ...rate, algorithm: "leakyBucket", burst: 10 },
  { ...rate, algorithm: "leakyQueue", queue: 5 },
  { ...rate, algorithm: "fixedWindow" },
  { ...rate, algorithm: "fixedWindow", anchor: "first" },
  { ...rate, algorithm: "slidingCounter" },
  { ...rate, algorithm: "slidingLog" },
  { ...rate, algorithm: "slidingWindow", precision: "10s" },
  { ...rate, algorithm: "lockout", lock: "5m" },
  { algorithm: "calendarWindow", limit: 10, every: "day", zone: "UTC" },
  { algorithm: "concurrency", limit: 10, ttl: "30s" },
];
/** An instant after the store's own time, because the store drops fresh keys from its dump. */
const NOW = Date.UTC(2100, 0, 15);

const number = fc.oneof(
  fc.integer({ min: -2, max: 20 }),
  fc.integer({ min: NOW - 100_000, max: NOW + 100_000 }),
  fc.maxSafeNat(),
  fc.constantFrom(2 ** 42, 2 ** 53 - 1, 2 ** 53, 0.5, NaN, Infinity, -0),
);

/** Changes that a caller may make to a receipt: other values for any of its numbers. */
const forgery = fc.record({
  id: number,
  cost: number,
  part: fc.record({
    id: number,
    number,
    units: number,
    until: number,
    marks: fc.array(number, { maxLength: 4 }),
  }, { requiredKeys: [] }),
}, { requiredKeys: ["part"] });

const step = fc.record({
  limit: fc.nat({ max: LIMITS.length - 1 }),
  cost: fc.integer({ min: 1, max: 4 }),
  forgery,
  verb: fc.constantFrom("settle" as const, "release" as const, "renew" as const),
  actual: fc.oneof(fc.nat({ max: 20 }), fc.constantFrom(2 ** 53 - 1)),
  pause: fc.integer({ min: 0, max: 90_000 }),
});

test("any forged receipt is refused by name, or leaves a state that can decide", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
      const time = { now: NOW };
      const store = memoryStore();
      const options = {
        rules: {
          domain: "d",
          rules: LIMITS.map((limit, index) => ({
            key: `${index}`,
            limits: [limit.algorithm === "concurrency" ? limit : { ...limit, reservable: true }],
          })),
        },
        clock: () => time.now,
      };
      const engine = ruleEngine({ ...options, store });
      for (const { limit, cost, forgery, verb, actual, pause } of steps) {
        const request = { domain: "d", descriptors: [{ entries: [[`${limit}`, "a"]] }] } as const;
        const { receipt } = await engine.reserve({ ...request, cost });
        time.now += pause;
        if (receipt !== undefined) {
          const { part, ...more } = forgery;
          const parts = receipt.parts.map((each) => ({ ...each, ...part }));
          const forged = { ...receipt, ...more, parts } as RuleReceipt;
          try {
            if (verb === "settle") await engine.settle(forged, actual);
            else await engine[verb](forged);
          } catch (error) {
            assert.ok(error instanceof TypeError || error instanceof RangeError, String(error));
            assert.match(error.message, /^Cannot (settle|release|renew|decide) /);
          }
        }
        const { decision } = engine.peek({ ...request, cost: 1 });
        for (
          const field of ["remaining", "retryAfter", "nextAfter", "resetAfter", "debt"] as const
        ) {
          const value = decision![field];
          assert.ok(value >= 0, `${field} is ${value} under ${JSON.stringify(LIMITS[limit])}`);
        }
      }
      // The codec knows the states.
      const copy = memoryStore();
      restore(copy, dump(store));
      const other = ruleEngine({ ...options, store: copy });
      for (const key of LIMITS.keys()) {
        const request = { domain: "d", descriptors: [{ entries: [[`${key}`, "a"]] }] } as const;
        assert.deepEqual(other.peek(request).decision, engine.peek(request).decision);
      }
    }),
    fcOptions({ numRuns: 100 }),
  );
});
