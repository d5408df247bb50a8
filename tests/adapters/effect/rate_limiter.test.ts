import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Cause, Clock, Duration, Effect, Exit, Layer, Schema } from "effect";
import { RateLimiter as PersistedRateLimiter } from "effect/persistence";
import { TestClock } from "effect/testing";

import {
  Decision,
  layerAttached,
  layerMemory,
  layerRateLimit,
  layerRateLimiterStore,
  layerShared,
  layerStore,
  layerStoreScoped,
  limit,
  RateLimited,
  RateLimiter,
  RateLimitError,
  SharedHandle,
  withLimit,
  withPermit,
} from "../../../adapters/effect/effect.ts";
import { gcra, leakyQueue, memoryStore, StoreOverloadedError } from "../../../mod.ts";
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

  test("fails with the reason RateLimited as consumeOrFail, which catchReason takes", async () => {
    await withLimiter(function* (limiter) {
      yield* limiter.consumeOrFail(api, "a", 2);
      const error = yield* Effect.flip(limiter.consumeOrFail(api, "a"));
      const { reason } = error;
      assert.ok(error instanceof RateLimitError && reason instanceof RateLimited);
      assert.deepEqual([error._tag, error.cause], ["RateLimitError", reason]);
      assert.deepEqual(reason.retryAfter, Duration.seconds(30));
      assert.equal(reason.decision.allowed, false);
      const caught = yield* limiter.consumeOrFail(api, "a").pipe(
        Effect.catchReason("RateLimitError", "RateLimited", ({ key }) => Effect.succeed(key)),
      );
      assert.equal(caught, "a");
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
    assert.ok(gone instanceof RateLimitError && gone.reason._tag === "StoreUnavailable");
    assert.equal(gone.reason.applied, "no");

    const full = await inTestTime(
      Effect.andThen(
        consume,
        Effect.flip(RateLimiter.use((limiter) => limiter.consume(api, "b"))),
      ),
      layerMemory({ maxKeys: 1, onFull: "throw" }),
    );
    assert.equal(full.reason._tag, "StoreFull");

    const overload = new StoreOverloadedError("Cannot decide as too many calls wait");
    const crowded = interceptedStore(asyncMemoryStore(), () => Promise.reject(overload));
    const overloaded = await inTestTime(Effect.flip(consume), layerStore(crowded));
    assert.equal(overloaded.reason._tag, "StoreOverloaded");
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
          call(limiter, key, cost) as Effect.Effect<unknown, RateLimitError>
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
    const reason = new RateLimited({
      prefix: "api",
      key: "a",
      cost: 2,
      retryAfter: Duration.infinity,
      decision: Schema.decodeSync(Decision)(decision as never),
    });
    const codec = Schema.toCodecJson(RateLimitError);
    const text = JSON.stringify(Schema.encodeSync(codec)(new RateLimitError({ reason })));
    const back = Schema.decodeUnknownSync(codec)(JSON.parse(text));
    assert.ok(back instanceof RateLimitError && back.reason instanceof RateLimited);
    assert.deepEqual([back.reason.key, back.reason.retryAfter, back.reason.decision], [
      "a",
      Duration.infinity,
      reason.decision,
    ]);
  });
});

describe("nothing that makes an effect or a layer throws:", () => {
  const made: Record<string, () => Effect.Effect<unknown, unknown, RateLimiter>> = {
    withLimit: () => withLimit(Effect.void, { limit: api, key: "a", kye: 1 } as never),
    withPermit: () => withPermit(Effect.void, { limit: api, key: "a", maxwait: 1 } as never),
    hold: () =>
      RateLimiter.use((limiter) => Effect.scoped(limiter.hold(api, "a", { cots: 1 } as never))),
    acquire: () => RateLimiter.use((limiter) => limiter.acquire(api, "a", { cots: 1 } as never)),
    layerMemory: () => onLayer(layerMemory({ maxKeys: -1 })),
    layerShared: () => onLayer(layerShared({ capacity: -1 })),
    layerAttached: () => onLayer(layerAttached({} as never)),
    layerRateLimit: () => onLayer(layerRateLimit({} as never)),
    layerRateLimiterStore: () => onLayer(layerRateLimiterStore(memoryStore(), { prefix: "" })),
  };
  const onLayer = <A, E, R>(layer: Layer.Layer<A, E, R>) => Effect.provide(Effect.void, layer);

  for (const [what, make] of Object.entries(made)) {
    test(what, async () => {
      const exit = await inTestTime(Effect.exit(make()));
      assert.ok(Exit.isFailure(exit) && Cause.hasDies(exit.cause), String(exit));
    });
  }
});

test("layerAttached counts on the store of a handle that was sent in a message", async () => {
  const take = RateLimiter.use((limiter) => limiter.consume(api, "a"));
  const program = Effect.gen(function* () {
    const handle = structuredClone(yield* SharedHandle);
    const here = yield* take;
    const there = yield* Effect.provide(take, layerAttached(handle));
    return [here, there, yield* take].map(({ allowed }) => allowed);
  });
  const layer = layerShared({ capacity: 100 });
  const answers = await Effect.runPromise(Effect.provide(program, layer));
  assert.deepEqual(answers, [true, true, false]);
});

test("layerMemory is one layer, and so one store, however often a program asks for it", async () => {
  const take = RateLimiter.use((limiter) => limiter.consume(api, "a"));
  const here = Layer.effectDiscard(take).pipe(Layer.provide(layerMemory()));
  const there = Layer.effectDiscard(take).pipe(Layer.provide(layerMemory()));
  const program = Effect.provide(take, Layer.mergeAll(layerMemory(), here, there));
  assert.equal((await inTestTime(program)).allowed, false);
});
