import { Effect, type Layer } from "effect";
import { TestClock } from "effect/testing";

import { layerMemory, RateLimiter } from "../../../../adapters/effect/effect.ts";

/** Runs a program under a `TestClock`, by default on a memory store of its own. */
export function inTestTime<A, E>(
  program: Effect.Effect<A, E, RateLimiter>,
  layer: Layer.Layer<RateLimiter> = layerMemory(),
): Promise<A> {
  return Effect.runPromise(
    program.pipe(Effect.provide(layer), Effect.provide(TestClock.layer())),
  );
}

/** Runs a program that uses the service under a `TestClock`. */
export function withLimiter<A>(
  // deno-lint-ignore no-explicit-any
  program: (limiter: RateLimiter) => Generator<Effect.Effect<any, any, RateLimiter>, A, never>,
  layer?: Layer.Layer<RateLimiter>,
): Promise<A> {
  return inTestTime(RateLimiter.use((limiter) => Effect.gen(() => program(limiter))), layer);
}
