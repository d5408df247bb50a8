import assert from "node:assert/strict";
import process from "node:process";
import { describe, test } from "node:test";
import { Cause, Clock, Duration, Effect, Exit, Schema } from "effect";
import { RateLimiter as PersistedRateLimiter } from "effect/persistence";
import { TestClock } from "effect/testing";

import {
  Decision,
  layerMemory,
  layerRateLimiterStore,
  layerStore,
  layerStoreScoped,
  limit,
  RateLimited,
  RateLimiter,
  RateLimitStoreError,
} from "../../../adapters/effect/effect.ts";
import { whenSettled } from "../../../adapters/effect/bound_limit.ts";
import {
  gcra,
  leakyQueue,
  memoryStore,
  StoreOverloadedError,
  StoreUnavailableError,
} from "../../../mod.ts";
import type { AsyncStore } from "../../../mod.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";
import { inTestTime, withLimiter } from "./support/in_test_time.ts";
import { byThenable, probe } from "../../stores/layered/probe.ts";
import { interceptedStore } from "../../support/intercepted_store.ts";

const api = limit("api", gcra({ limit: 2, period: "1m", burst: 2 }));

describe("RateLimiter", () => {
  test("answers with durations", async () => {
    const decision = await inTestTime(RateLimiter.use((limiter) => limiter.consume(api, "a")));
    assert.deepEqual(decision, {
      allowed: true,
      limit: 2,
      remaining: 1,
      retryAfter: Duration.zero,
      nextAfter: Duration.seconds(30),
      resetAfter: Duration.seconds(30),
      delay: Duration.zero,
      debt: 0,
      source: undefined,
      parts: undefined,
    });
  });

  test("follows each fiber's own clock on one store", async () => {
    const program = Effect.gen(function* () {
      const limiter = yield* RateLimiter;
      const consume = limiter.consume(api, "a", 2);
      assert.equal((yield* consume).allowed, true);
      const later = (yield* Clock.currentTimeMillis) + 60_000;
      const decision = yield* Effect.andThen(TestClock.setTime(later), consume).pipe(
        Effect.provide(TestClock.layer()),
      );
      assert.equal(decision.allowed, true);
    });
    await Effect.runPromise(Effect.provide(program, layerMemory()));
  });

  test("leaves the time to the store on the default clock", async () => {
    const seen: (number | undefined)[] = [];
    const store = interceptedStore(memoryStore(), ([call], proceed) => {
      seen.push(call!.now);
      return proceed();
    });
    const consume = RateLimiter.use((limiter) => limiter.consume(api, "a"));
    await Effect.runPromise(Effect.provide(consume, layerStore(store)));
    await inTestTime(consume, layerStore(store));
    assert.deepEqual(seen, [undefined, 0]);
  });

  test("fails with RateLimited as consumeOrFail", async () => {
    await withLimiter(function* (limiter) {
      yield* limiter.consumeOrFail(api, "a", 2);
      const error = yield* Effect.flip(limiter.consumeOrFail(api, "a"));
      assert.ok(error instanceof RateLimited);
      assert.equal(error._tag, "RateLimited");
      assert.deepEqual(error.retryAfter, Duration.seconds(30));
      assert.equal(error.decision.allowed, false);
      const never = yield* Effect.flip(limiter.consumeOrFail(api, "a", 3));
      assert.match(never.message, /it would never be admitted$/);
      assert.equal(
        error.message,
        'Cannot take 1 of "a" under "api" as the limit must have room: it would be admitted in 30000 ms',
      );
    });
  });

  test("takes from several keys or from none", async () => {
    const perAddress = limit("address", gcra({ limit: 1, period: "1m", burst: 1 }));
    await withLimiter(function* (limiter) {
      const entries = [{ limit: api, key: "u" }, { limit: perAddress, key: "192.0.2.7" }];
      assert.equal((yield* limiter.consumeAll(entries)).allowed, true);
      const refused = yield* limiter.consumeAll(entries);
      assert.deepEqual([refused.allowed, refused.parts?.map(({ allowed }) => allowed)], [
        false,
        [true, false],
      ]);
      assert.equal((yield* limiter.peek(api, "u", 0)).remaining, 1);
    });
  });

  test("makes typed errors of a store that is closed, full or overloaded", async () => {
    const closed = memoryStore();
    closed.close();
    const consume = RateLimiter.use((limiter) => limiter.consume(api, "a"));
    const gone = await inTestTime(Effect.flip(consume), layerStore(closed));
    assert.ok(gone instanceof RateLimitStoreError);
    assert.deepEqual([gone._tag, gone.reason, gone.applied], [
      "RateLimitStoreError",
      "unavailable",
      "no",
    ]);

    const full = await inTestTime(
      Effect.andThen(
        consume,
        Effect.flip(RateLimiter.use((limiter) => limiter.consume(api, "b"))),
      ),
      layerMemory({ maxKeys: 1, onFull: "throw" }),
    );
    assert.equal(full.reason, "full");

    const overload = new StoreOverloadedError("Cannot decide as too many calls wait");
    const crowded = interceptedStore(asyncMemoryStore(), () => Promise.reject(overload));
    const overloaded = await inTestTime(Effect.flip(consume), layerStore(crowded));
    assert.equal(overloaded.reason, "overloaded");
  });

  test("closes a store of its own with its scope, and leaves the caller's open", async () => {
    const own = memoryStore();
    const consume = RateLimiter.use((limiter) => limiter.consume(api, "a"));
    await inTestTime(consume, layerStoreScoped(Effect.succeed(own)));
    assert.throws(() => own.run([]), { name: "StoreUnavailableError" });

    const given = memoryStore();
    await inTestTime(consume, layerStore(given));
    assert.equal(given.statistics().keys, 1);
  });

  test("does not fail a program because its store could not be closed", async () => {
    const close = () => Promise.reject(new Error("no connection"));
    const store = { ...asyncMemoryStore(), close };
    const consume = RateLimiter.use((limiter) => limiter.consume(api, "a"));
    const decision = await inTestTime(consume, layerStoreScoped(Effect.succeed(store)));
    assert.equal(decision.allowed, true);
  });

  test("waits for promises of any kind", async () => {
    const store = probe(byThenable).store as unknown as AsyncStore;
    const own = Effect.gen(function* () {
      const limiter = yield* RateLimiter;
      assert.equal((yield* limiter.consume(api, "a")).remaining, 1);
      assert.equal((yield* limiter.consumeOrFail(api, "a")).remaining, 0);
      assert.equal((yield* limiter.refund(api, "a")).remaining, 1);
      yield* limiter.reset(api, "a");
      const queue = limit("queue", leakyQueue({ limit: 1, period: "1m", queue: 1 }));
      assert.equal((yield* limiter.consumeOrFail(queue, "a")).remaining, 1);
      const both = yield* limiter.consumeAll([{ limit: api, key: "a" }, {
        limit: queue,
        key: "a",
      }]);
      assert.deepEqual(both.parts?.map(({ remaining }) => remaining), [1, 0]);
    });
    await inTestTime(own, layerStore(store));
    const effects = PersistedRateLimiter.RateLimiterStore.use((limiter) =>
      limiter.fixedWindow({ key: "a", tokens: 1, limit: 5, refillRate: Duration.seconds(1) })
    );
    const answer = await Effect.runPromise(Effect.provide(effects, layerRateLimiterStore(store)));
    assert.equal(answer[0], 1);
  });

  test("leaves no rejection unheard where an interrupt comes before it is awaited", async () => {
    const unheard: unknown[] = [];
    const hear = (cause: unknown) => unheard.push(cause);
    process.on("unhandledRejection", hear);
    const failing = new StoreUnavailableError("Cannot reach Redis", "no");
    // The effect of a fiber that is interrupted here is never run.
    whenSettled(Promise.reject(failing), () => Effect.void);
    await new Promise((resolve) => setTimeout(resolve, 5));
    process.off("unhandledRejection", hear);
    assert.deepEqual(unheard, []);
  });
});

describe("a call with a bad key or cost is a defect, not a typed failure:", () => {
  const queue = limit("queue", leakyQueue({ limit: 1, period: "1m", queue: 1 }));
  const calls: Record<string, (limiter: RateLimiter, key: string, cost: number) => unknown> = {
    consume: (limiter, key, cost) => limiter.consume(api, key, cost),
    consumeOrFail: (limiter, key, cost) => limiter.consumeOrFail(api, key, cost),
    "consumeOrFail of a queue": (limiter, key, cost) => limiter.consumeOrFail(queue, key, cost),
    peek: (limiter, key, cost) => limiter.peek(api, key, cost),
    refund: (limiter, key, cost) => limiter.refund(api, key, cost),
    charge: (limiter, key, cost) => limiter.charge(api, key, cost),
    acquire: (limiter, key, cost) => limiter.acquire(api, key, { cost }),
    admit: (limiter, key, cost) => limiter.admit(api, key, { cost }),
    consumeAll: (limiter, key, cost) => limiter.consumeAll([{ limit: api, key, cost }]),
  };
  for (const [what, call] of Object.entries(calls)) {
    test(what, async () => {
      for (const [key, cost, kind] of [["", 1, TypeError], ["a", -1, RangeError]] as const) {
        const program = RateLimiter.use((limiter) =>
          call(limiter, key, cost) as Effect.Effect<unknown, RateLimited | RateLimitStoreError>
        );
        const exit = await inTestTime(Effect.exit(program));
        assert.ok(Exit.isFailure(exit) && Cause.hasDies(exit.cause));
        assert.ok(Cause.squash(exit.cause) instanceof kind);
      }
    });
  }
});

describe("limit", () => {
  test("rejects a value that is not a limit", () => {
    assert.throws(() => limit("", gcra({ limit: 1, period: 1, burst: 1 })), {
      name: "TypeError",
      message: 'Cannot create limit as prefix must be a non-empty string: current value is ""',
    });
    assert.throws(() => limit("a", undefined as never), TypeError);
    assert.throws(() => limit("a", api.algorithm, { maxWaiting: 0 }), RangeError);
  });

  test("carries the use of a changed limit over", async () => {
    const old = gcra({ limit: 4, period: "1m", burst: 4 });
    const before = limit("api", old);
    const after = limit("api", gcra({ limit: 8, period: "1m", burst: 8 }), {
      replaces: { algorithm: old, mode: "keep" },
    });
    await withLimiter(function* (limiter) {
      yield* limiter.consume(before, "a", 3);
      assert.equal((yield* limiter.peek(after, "a", 0)).remaining, 5);
    });
  });
});

describe("the errors", () => {
  test("travel as JSON and come back", () => {
    const [decision] = gcra({ limit: 1, period: "1s", burst: 1 }).step(0, 0, 2);
    const error = new RateLimited({
      prefix: "api",
      key: "a",
      cost: 2,
      retryAfter: Duration.infinity,
      decision: Schema.decodeSync(Decision)(decision as never),
    });
    const codec = Schema.toCodecJson(RateLimited);
    const text = JSON.stringify(Schema.encodeSync(codec)(error));
    const back = Schema.decodeUnknownSync(codec)(JSON.parse(text));
    assert.ok(back instanceof RateLimited);
    assert.deepEqual([back.key, back.retryAfter, back.decision], [
      "a",
      Duration.infinity,
      error.decision,
    ]);
  });
});
