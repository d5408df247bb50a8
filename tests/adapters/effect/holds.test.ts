import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Duration, Effect, Exit, Fiber, Scope } from "effect";
import { TestClock } from "effect/testing";

import {
  layerStore,
  limit,
  type RateLimiter,
  RateLimitError,
  withPermit,
} from "../../../adapters/effect/effect.ts";
import {
  all,
  calendarWindow,
  concurrency,
  gcra,
  memoryStore,
  type Receipt,
  reservable,
  StoreUnavailableError,
} from "../../../mod.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";
import { interceptedStore } from "../../support/intercepted_store.ts";
import { withLimiter } from "./support/in_test_time.ts";

const two = limit("two", concurrency({ limit: 2, ttl: "30s", maxHold: "2m" }));
const both = limit(
  "both",
  all(concurrency({ limit: 1, ttl: "30s" }), gcra({ limit: 5, period: "1m", burst: 5 })),
);

const held = (limiter: RateLimiter, limited = two) =>
  Effect.map(limiter.peek(limited, "a", 0), ({ limit, remaining }) => limit - remaining);

for (const [kind, makeStore] of Object.entries({ memoryStore, asyncMemoryStore })) {
  describe(`withPermit on ${kind}`, () => {
    const layer = () => layerStore(makeStore());
    const work = { limit: two, key: "a" };

    test("holds while the effect runs, and releases however it ends", async () => {
      await withLimiter(function* (limiter) {
        assert.equal(yield* withPermit(held(limiter), work), 1);
        assert.equal(yield* held(limiter), 0);
        const failed = yield* Effect.flip(withPermit(Effect.fail("no" as const), work));
        assert.equal(failed, "no");
        const died = yield* Effect.exit(withPermit(Effect.die("bug"), work));
        assert.ok(Exit.isFailure(died));
        assert.equal(yield* held(limiter), 0);
      }, layer());
    });

    test("releases when the fiber is interrupted, after the effect's own finalizers", async () => {
      await withLimiter(function* (limiter) {
        let heldInFinalizer = -1;
        const finalizer = Effect.tap(held(limiter), (count) =>
          Effect.sync(() => {
            heldInFinalizer = count;
          }));
        const working = Effect.onInterrupt(Effect.never, () => Effect.orDie(finalizer));
        const fiber = yield* Effect.forkChild(withPermit(working, work));
        yield* TestClock.adjust("1 second");
        assert.equal(yield* held(limiter), 1);
        yield* Fiber.interrupt(fiber);
        assert.equal(heldInFinalizer, 1);
        assert.equal(yield* held(limiter), 0);
      }, layer());
    });

    test("refuses at once without maxWait, and waits with it", async () => {
      await withLimiter(function* (limiter) {
        const hour = Effect.as(Effect.sleep("1 minute"), "done");
        const fibers = [
          yield* Effect.forkChild(withPermit(hour, work)),
          yield* Effect.forkChild(withPermit(hour, work)),
        ];
        yield* TestClock.adjust("1 second");
        const refused = yield* Effect.flip(withPermit(Effect.void, work));
        assert.ok(refused.reason._tag === "RateLimited");
        assert.equal(refused.reason.decision.remaining, 0);
        const late = yield* Effect.forkChild(
          Effect.flip(withPermit(Effect.void, { ...work, maxWait: "10 seconds" })),
        );
        const waiting = yield* Effect.forkChild(
          withPermit(Effect.succeed("my turn"), { ...work, maxWait: "2 minutes" }),
        );
        yield* TestClock.adjust("10 seconds");
        assert.equal((yield* Fiber.join(late)).reason._tag, "RateLimited");
        yield* TestClock.adjust("2 minutes");
        assert.equal(yield* Fiber.join(waiting), "my turn");
        for (const fiber of fibers) assert.equal(yield* Fiber.join(fiber), "done");
        assert.equal(yield* held(limiter), 0);
      }, layer());
    });

    test("an interrupted wait holds nothing", async () => {
      await withLimiter(function* (limiter) {
        const scope = yield* Scope.make();
        yield* Scope.provide(limiter.hold(two, "a", { cost: 2 }), scope);
        const waiting = yield* Effect.forkChild(
          withPermit(Effect.never, { ...work, maxWait: Duration.infinity }),
        );
        yield* TestClock.adjust("1 second");
        yield* Fiber.interrupt(waiting);
        yield* Scope.close(scope, Exit.void);
        yield* TestClock.adjust("1 second");
        assert.equal(yield* held(limiter), 0);
      }, layer());
    });

    test("a permit that arrives with the interrupt is given back", async () => {
      await withLimiter(function* (limiter) {
        const waiting = yield* Effect.forkChild(
          withPermit(Effect.never, { ...work, maxWait: Duration.infinity }),
          { startImmediately: true },
        );
        yield* Fiber.interrupt(waiting);
        assert.equal(yield* held(limiter), 0);
      }, layer());
    });

    test("a permit is renewed, and the effect ends with PermitLost after maxHold", async () => {
      await withLimiter(function* (limiter) {
        let interrupted = false;
        const working = Effect.onInterrupt(Effect.never, () =>
          Effect.sync(() => {
            interrupted = true;
          }));
        const fiber = yield* Effect.forkChild(Effect.flip(withPermit(working, work)));
        yield* TestClock.adjust("100 seconds"); // more than three times its time to live
        assert.equal(yield* held(limiter), 1);
        yield* TestClock.adjust("21 seconds");
        const lost = yield* Fiber.join(fiber);
        assert.ok(lost instanceof RateLimitError && lost.reason._tag === "PermitLost");
        assert.match(lost.message, /held for 120000 ms, which is maxHold/);
        assert.equal(interrupted, true);
        assert.equal(yield* held(limiter), 0);
      }, layer());
    });

    test("runs where nothing may be interrupted", async () => {
      await withLimiter(function* (limiter) {
        const value = yield* Effect.uninterruptible(withPermit(Effect.succeed(42), work));
        assert.equal(value, 42);
        assert.equal(yield* held(limiter), 0);
      }, layer());
    });

    test("a refusal takes nothing of the other limits, a release gives back the permit alone", async () => {
      await withLimiter(function* (limiter) {
        const one = { limit: both, key: "a" };
        const refused = yield* withPermit(Effect.flip(withPermit(Effect.void, one)), one);
        assert.equal(refused.reason._tag, "RateLimited");
        const { parts } = yield* limiter.peek(both, "a", 0);
        assert.deepEqual(parts?.map(({ remaining }) => remaining), [1, 4]);
      }, layer());
    });

    test("an effect's scope is its own, not that of the permit", async () => {
      await withLimiter(function* (limiter) {
        let closed = false;
        const finalizer = () => Effect.sync(() => void (closed = true));
        const opening = withPermit(Effect.addFinalizer(finalizer), work);
        yield* Effect.scoped(Effect.gen(function* () {
          yield* opening;
          assert.equal(closed, false);
          assert.equal(yield* held(limiter), 0);
        }));
        assert.equal(closed, true);
      }, layer());
    });
  });
}

test("permits are for concurrency", async () => {
  await withLimiter(function* () {
    const other = limit("other", gcra({ limit: 5, period: "1m", burst: 5 }));
    const wrong = yield* Effect.exit(withPermit(Effect.void, { limit: other, key: "a" }));
    assert.match(String(wrong), /its algorithm must be concurrency/);
  });
});

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
