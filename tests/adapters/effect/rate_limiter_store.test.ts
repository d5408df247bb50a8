import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Duration, Effect, Fiber, Layer } from "effect";
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http";
import { RateLimiter } from "effect/persistence";
import { TestClock } from "effect/testing";
import fc from "fast-check";

import { layerRateLimiterStore } from "../../../adapters/effect/effect.ts";
import { BUCKET, COUNTER } from "../../../adapters/effect/rate_limiter_store.ts";
import { memoryStore, type SyncStore } from "../../../mod.ts";
import { sharedStore } from "../../../stores/shared/shared_store.ts";
import { fcOptions } from "../../support/seed.ts";
import { wrapStore } from "../../../core/wrap_store.ts";

const { RateLimiterStore } = RateLimiter;

const gap = fc.oneof(fc.nat({ max: 2_000 }), fc.nat({ max: 200_000 }));
const tokens = fc.integer({ min: 1, max: 4 });
const key = fc.constantFrom("a", "b");
/** A call on a store, how long to wait before it, and whether it has a limit or lets overflow. */
const anyCall = fc.record({ gap, key, tokens, byBucket: fc.boolean(), flag: fc.boolean() });

/** A store's answer to each call, at the times of a `TestClock`. */
function answersOf(
  calls: readonly (typeof anyCall extends fc.Arbitrary<infer Call> ? Call : never)[],
  rate: { limit: number; refillRate: number },
) {
  const { limit } = rate;
  const refillRate = Duration.millis(rate.refillRate);
  return Effect.gen(function* () {
    const store = yield* RateLimiterStore;
    return yield* Effect.forEach(calls, ({ gap, key, tokens, byBucket, flag }) =>
      Effect.andThen(
        TestClock.adjust(gap),
        byBucket
          ? store.tokenBucket({ key: `t${key}`, tokens, limit, refillRate, allowOverflow: flag })
          : store.fixedWindow({
            key: `f${key}`,
            tokens,
            refillRate,
            limit: flag ? limit : undefined,
          }),
      ));
  });
}

function run<A, E>(
  program: Effect.Effect<A, E, RateLimiter.RateLimiterStore>,
  layer: Layer.Layer<RateLimiter.RateLimiterStore>,
): Promise<A> {
  return Effect.runPromise(
    program.pipe(Effect.provide(layer), Effect.provide(TestClock.layer())),
  );
}

const stores: Readonly<Record<string, () => SyncStore>> = {
  memory: () => memoryStore(),
  shared: () => sharedStore({ capacity: 100, maxBytes: 65_536, threads: 4 }),
};

describe("layerRateLimiterStore", () => {
  for (const [name, open] of Object.entries(stores)) {
    test(`answers as Effect's own memory store, on the ${name} store`, () => sameAnswers(open));
  }

  async function sameAnswers(open: () => SyncStore): Promise<void> {
    const property = fc.asyncProperty(
      fc.array(anyCall, { maxLength: 40 }),
      fc.integer({ min: 1, max: 6 }),
      fc.constantFrom(1, 100, 250, 1_000 / 3, 1_000),
      async (calls, limit, refillRate) => {
        const program = answersOf(calls, { limit, refillRate });
        const expected = await run(program, RateLimiter.layerStoreMemory);
        const store = open();
        const given = await run(program, layerRateLimiterStore(store));
        store.close();
        assert.deepEqual(given, expected);
      },
    );
    await fc.assert(property, fcOptions({ numRuns: 150 }));
  }

  test("keeps its knowledge of a server within its own layer", async () => {
    const store = memoryStore();
    const layers = [layerRateLimiterStore(store), layerRateLimiterStore(store)];
    const call = { key: "api", tokens: 1, fallbackLimit: 1, fallbackWindow: Duration.seconds(1) };
    const program = Effect.gen(function* () {
      const [one, other] = yield* Effect.all(
        layers.map((layer) => Effect.provide(RateLimiterStore, layer)),
      );
      const retryAfter = Duration.seconds(5);
      yield* one!.adaptiveFeedback({ key: "api", epoch: 0, tokens: 1, status: 429, retryAfter });
      assert.equal((yield* one!.adaptiveConsume(call)).phase, "cooldown");
      assert.equal((yield* other!.adaptiveConsume(call)).phase, "inactive");
    });
    await Effect.runPromise(Effect.provide(program, TestClock.layer()));
    assert.equal(store.statistics().keys, 0);
  });

  test("forgets keys that are fresh again", async () => {
    const store = memoryStore();
    const program = Effect.gen(function* () {
      const limiter = yield* RateLimiterStore;
      for (let i = 0; i < 500; i++) {
        const refillRate = Duration.millis(10);
        yield* limiter.fixedWindow({ key: `f${i}`, tokens: 1, refillRate, limit: 5 });
        yield* limiter.tokenBucket({
          key: `t${i}`,
          tokens: 1,
          refillRate,
          limit: 5,
          allowOverflow: false,
        });
        yield* TestClock.adjust("1 second");
      }
    });
    await run(program, layerRateLimiterStore(store));
    assert.ok(store.statistics().keys < 50, `${store.statistics().keys} keys`);
  });

  test("writes nothing for a refusal", async () => {
    const memory = memoryStore();
    const states: unknown[] = [];
    const watching = wrapStore(memory, {
      open(spec) {
        const family = memory.open(spec);
        return {
          ...family,
          bind: (verb) =>
            family.bind({
              ...verb,
              on(algorithm) {
                const steps = verb.on(algorithm);
                return {
                  ...steps,
                  next(state, now, argument) {
                    const next = steps.next(state, now, argument);
                    states.push(next === state);
                    return next;
                  },
                };
              },
            }),
        };
      },
    });
    const program = Effect.gen(function* () {
      const store = yield* RateLimiterStore;
      const refillRate = Duration.seconds(1);
      const bucket = { key: "a", tokens: 2, limit: 3, refillRate, allowOverflow: false };
      yield* store.tokenBucket(bucket);
      states.length = 0;
      yield* TestClock.adjust("500 millis");
      yield* store.tokenBucket(bucket);
      yield* store.fixedWindow({ key: "a", tokens: 4, refillRate, limit: 3 });
    });
    await run(program, layerRateLimiterStore(watching));
    assert.ok(states.length > 0 && states.every((same) => same === true));
  });

  test("paces HttpClient.withRateLimiter for two clients on one store", async () => {
    const store = memoryStore();
    const sent: number[] = [];
    const program = Effect.gen(function* () {
      const server = HttpClient.make((request) =>
        Effect.clockWith((clock) =>
          Effect.sync(() => {
            sent.push(clock.currentTimeMillisUnsafe());
            return HttpClientResponse.fromWeb(request, new Response("ok"));
          })
        )
      );
      const clientOf = Effect.map(
        RateLimiter.RateLimiter,
        (limiter) =>
          HttpClient.withRateLimiter(server, {
            limiter,
            key: "api.example",
            limit: 2,
            window: "1 second",
            algorithm: "token-bucket",
          }),
      );
      // Each with a limiter and a layer of its own, as in two threads.
      const layer = () =>
        Layer.provide(RateLimiter.layer, Layer.fresh(layerRateLimiterStore(store)));
      const clients = [
        yield* Effect.provide(clientOf, layer()),
        yield* Effect.provide(clientOf, layer()),
      ];
      const request = HttpClientRequest.get("http://api.example/");
      const all = Effect.all(
        [...clients, ...clients, ...clients].map((client) => client.execute(request)),
        { concurrency: "unbounded" },
      );
      const fiber = yield* Effect.forkChild(all);
      yield* TestClock.adjust("1 minute");
      yield* Fiber.join(fiber);
    });
    await Effect.runPromise(Effect.provide(program, TestClock.layer()));
    assert.deepEqual(sent, [0, 0, 500, 1_000, 1_500, 2_000]);
  });
});

describe("the codec of its states", () => {
  for (const { id, codec, fresh } of [COUNTER, BUCKET]) {
    test(`${id}: inverse in words and in text, and wary of anything else`, () => {
      const number = fc.oneof(fc.maxSafeNat(), fc.double({ min: -1e9, max: 1e15, noNaN: true }));
      fc.assert(
        fc.property(number, number, (tokens, instant) => {
          const state = [tokens + 0, instant + 0] as const;
          const words = new Float64Array(12);
          const count = codec.write(state, words, 3);
          assert.equal(count, codec.maxWords);
          assert.deepEqual(codec.read(words, 3, count), state);
          assert.deepEqual(codec.decode(codec.encode(state)), state);
          assert.equal(codec.read(words, 3, count - 1), undefined);
        }),
        fcOptions(),
      );
      assert.equal(codec.decode(codec.encode(fresh)), fresh);
      for (const bad of ["", "x1 5 6", "c1 ", "c1 a b", "c1 5", "c1 5 6 7", "b1 0 05 6"]) {
        assert.equal(codec.decode(bad), undefined, bad);
      }
    });
  }
});
