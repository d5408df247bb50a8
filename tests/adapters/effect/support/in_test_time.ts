import { Effect, type Layer } from "effect";
import { TestClock } from "effect/testing";

import { layerMemory, type RateLimiter } from "../../../../adapters/effect/effect.ts";

/** Runs a program under a `TestClock`, by default on a memory store of its own. */
export function inTestTime<A, E>(
  program: Effect.Effect<A, E, RateLimiter>,
  layer: Layer.Layer<RateLimiter> = layerMemory(),
): Promise<A> {
  return Effect.runPromise(
    program.pipe(Effect.provide(layer), Effect.provide(TestClock.layer())),
  );
}
