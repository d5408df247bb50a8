import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Duration, Effect } from "effect";
import { TestClock } from "effect/testing";

import { layerStore, limit } from "../../../adapters/effect/effect.ts";
import {
  calendarWindow,
  gcra,
  memoryStore,
  type Receipt,
  reservable,
  StoreUnavailableError,
} from "../../../mod.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";
import { interceptedStore } from "../../support/intercepted_store.ts";
import { withLimiter } from "./support/in_test_time.ts";

const plain = limit("plain", gcra({ limit: 60, period: "1m", burst: 10 }));
const tokens = limit("tokens", reservable(plain.algorithm));
const money = limit(
  "money",
  reservable(calendarWindow({ limit: 100, every: "month", zone: "UTC" }), { within: "10m" }),
);

for (const [kind, makeStore] of Object.entries({ memoryStore, asyncMemoryStore })) {
  describe(`receipts on ${kind}`, () => {
    test("settle gives back the units that still count, once", async () => {
      await withLimiter(function* (limiter) {
        const { decision, receipt } = yield* limiter.reserve(tokens, "a", 8);
        assert.equal(decision.remaining, 2);
        assert.deepEqual(decision.resetAfter, Duration.seconds(8));
        yield* TestClock.adjust("2 seconds");
        const first = yield* limiter.settle(tokens, "a", receipt!, 1);
        assert.deepEqual([first.outcome, first.returned, first.charged], ["settled", 6, 0]);
        assert.equal(first.decision.remaining, 10);
        const again = yield* limiter.settle(tokens, "a", receipt!, 1);
        assert.deepEqual([again.outcome, again.returned], ["unknown", 0]);
      }, layerStore(makeStore()));
    });

    test("settle charges the excess, and release gives back all", async () => {
      await withLimiter(function* (limiter) {
        // As it travels to another process.
        const travelled = (receipt: Receipt | undefined): Receipt =>
          JSON.parse(JSON.stringify(receipt));
        const one = yield* limiter.reserve(tokens, "a", 4);
        const excess = yield* limiter.settle(tokens, "a", travelled(one.receipt), 12);
        assert.deepEqual([excess.charged, excess.decision.debt], [8, 2]);
        const two = yield* limiter.reserve(tokens, "b", 4);
        const freed = yield* limiter.release(tokens, "b", travelled(two.receipt));
        assert.deepEqual([freed.returned, freed.decision.remaining], [4, 10]);
      }, layerStore(makeStore()));
    });

    test("a receipt ends by the clock of the fiber, and its units stay charged", async () => {
      await withLimiter(function* (limiter) {
        yield* TestClock.setTime(Date.UTC(2026, 0, 15));
        const { receipt } = yield* limiter.reserve(money, "a", 90);
        assert.equal((yield* limiter.reserve(money, "a", 20)).receipt, undefined);
        yield* TestClock.adjust("599999 millis");
        const { receipt: other } = yield* limiter.reserve(money, "a", 5);
        yield* TestClock.adjust("1 millis");
        const late = yield* limiter.settle(money, "a", receipt!, 50);
        assert.deepEqual([late.outcome, late.decision.remaining], ["expired", 5]);
        const inTime = yield* limiter.release(money, "a", other!);
        assert.deepEqual([inTime.outcome, inTime.decision.remaining], ["settled", 10]);
      }, layerStore(makeStore()));
    });
  });
}

describe("receipts that cannot be made", () => {
  test("a wrong argument is a defect", async () => {
    await withLimiter(function* (limiter) {
      const wrong = yield* Effect.exit(limiter.settle(tokens, "a", {} as Receipt, 1));
      assert.match(String(wrong), /receipt must come from reserve/);
      const unreservable = yield* Effect.exit(limiter.reserve(plain, "a", 1));
      assert.match(String(unreservable), /must be reservable\(\.\.\.\)/);
    });
  });

  test("a store that fails is a typed failure", async () => {
    const away = new StoreUnavailableError("Cannot reach Redis", "unknown");
    const failing = interceptedStore(asyncMemoryStore(), () => Promise.reject(away));
    await withLimiter(function* (limiter) {
      const { reason } = yield* Effect.flip(limiter.reserve(tokens, "a", 1));
      assert.ok(reason._tag === "StoreUnavailable");
      assert.deepEqual([reason.applied, reason.cause], ["unknown", away]);
    }, layerStore(failing));
  });
});
