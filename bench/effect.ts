/*
 * The cost of a decision in an Effect program: the bare limiter, the service, `withLimit`, Effect's
 * own RateLimiter on its memory store, and the same on a store of tidegate.
 *
 * The flaw: one fiber, no span at hand and nobody who reads the metrics.
 */

import process from "node:process";
import { Context, Effect, Layer } from "effect";
import { RateLimiter as EffectRateLimiter } from "effect/persistence";

import {
  layerRateLimiterStore,
  limit,
  makeRateLimiter,
  RateLimiter,
  withLimit,
} from "../adapters/effect/effect.ts";
import { gcra, limiter, memoryStore } from "../mod.ts";
import { sharedStore } from "../stores/shared/shared_store.ts";
import { compare, finish, row, runtime, type Variant } from "./measure.ts";

const SHORT = process.argv.includes("--short");
const OPERATIONS = SHORT ? 2_000 : 20_000;
const ROUNDS = SHORT ? 3 : 7;
const KEYS = Array.from({ length: 1_024 }, (_, index) => `user:${index}`);

const algorithm = gcra({ limit: 1_000_000, period: "1m", burst: 1_000_000 });
const api = limit("api", algorithm);
const bare = limiter(algorithm);
const service = Context.make(RateLimiter, makeRateLimiter(memoryStore()));

/** Runs an effect so often, each time with another key, in one fiber. */
function repeated<R>(
  effectOf: (key: string) => Effect.Effect<unknown, unknown, R>,
  context: Context.Context<R>,
): Variant {
  return (operations) => {
    const loop = Effect.gen(function* () {
      for (let i = 0; i < operations; i++) yield* effectOf(KEYS[i & 1_023]!);
      return operations;
    });
    return Effect.runSync(Effect.provideContext(loop, context) as Effect.Effect<number>);
  };
}

async function effectsOwn(
  store: Layer.Layer<EffectRateLimiter.RateLimiterStore>,
): Promise<Variant> {
  const own = await Effect.runPromise(
    Effect.provide(EffectRateLimiter.RateLimiter, Layer.provide(EffectRateLimiter.layer, store)),
  );
  const call = { limit: 1_000_000, window: "1 minute", algorithm: "token-bucket" } as const;
  return repeated((key) => own.consume({ ...call, key }), Context.empty());
}

const shared = sharedStore({ capacity: 4_096, maxBytes: 2 ** 20 });
const figures = compare(
  {
    bare: (operations) => {
      let sum = 0;
      for (let i = 0; i < operations; i++) sum += bare.consume(KEYS[i & 1_023]!).remaining;
      return sum;
    },
    service: repeated((key) => RateLimiter.use((own) => own.consume(api, key)), service),
    withLimit: repeated((key) => withLimit(Effect.void, { limit: api, key }), service),
    own: await effectsOwn(EffectRateLimiter.layerStoreMemory),
    ownOnMemory: await effectsOwn(layerRateLimiterStore(memoryStore())),
    ownOnShared: await effectsOwn(layerRateLimiterStore(shared)),
  },
  OPERATIONS,
  ROUNDS,
);

console.log(`${runtime()}: ns per decision in an Effect program`);
console.log(row("tidegate, bare", [figures.bare]));
console.log(row("tidegate/effect, consume", [figures.service]));
console.log(row("tidegate/effect, withLimit", [figures.withLimit]));
console.log(row("Effect's RateLimiter, its own store", [figures.own]));
console.log(row("the same on memoryStore", [figures.ownOnMemory]));
console.log(row("the same on sharedStore", [figures.ownOnShared]));
shared.close();
finish();
