import * as Clock from "effect/Clock";
import * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";

import type { MaybePromise } from "../../../core/maybe_promise.ts";
import { checkText } from "../../../core/options/checks.ts";
import type { Store } from "../../../core/store.ts";
import { timeOf } from "../limiter_clock.ts";
import {
  layerStoreMemory,
  RateLimiterError,
  RateLimiterStore,
  RateLimitStoreError,
} from "../needs_effect_4_1.ts";
import { bucketMachine, bucketTurn, counterMachine, counterTurn } from "./refill_turns.ts";
import { whenSettled } from "../when_settled.ts";
import { machineOn } from "./store_machine.ts";

/**
 * Effect's own `RateLimiterStore` on a store of tidegate, so that its `RateLimiter`, and with it
 * `HttpClient.withRateLimiter`, counts in shared memory across threads: any store that answers at
 * once, and one that answers by promises as well.
 *
 * It decides as Effect's memory store does, and lets a key go once it is fresh again, which that
 * one does not. Nothing is written for a refusal.
 *
 * What `withRateLimiter` learns of a server from its refusals is not shared: each layer keeps that to
 * itself, in a memory store of Effect's own.
 *
 * @param store Any store; it stays the caller's to close.
 * @param options `prefix`, what its keys begin with in the store; default `"effect"`.
 * @throws {RangeError} If the store cannot hold its states.
 *
 * @example
 * ```ts
 * import { Effect, Layer } from "effect";
 * import { RateLimiter } from "effect/persistence";
 * import { memoryStore } from "tidegate";
 * import { layerRateLimiterStore } from "tidegate/effect";
 * import assert from "node:assert/strict";
 *
 * const program = Effect.gen(function* () {
 *   const limiter = yield* RateLimiter.RateLimiter;
 *   return yield* limiter.consume({ key: "api.example", limit: 10, window: "1 second" });
 * });
 *
 * const layer = Layer.provide(RateLimiter.layer, layerRateLimiterStore(memoryStore()));
 * const { remaining } = await Effect.runPromise(Effect.provide(program, layer));
 * assert.equal(remaining, 9);
 * ```
 */
export function layerRateLimiterStore(
  store: Store,
  options: { readonly prefix?: string | undefined } = {},
): Layer.Layer<RateLimiterStore> {
  const { prefix = "effect" } = options;
  checkText("create layerRateLimiterStore", "prefix", prefix);
  const counters = machineOn(store, prefix, counterMachine);
  const buckets = machineOn(store, prefix, bucketMachine);
  return Layer.effect(
    RateLimiterStore,
    Effect.map(RateLimiterStore, ({ adaptiveConsume, adaptiveFeedback }) =>
      RateLimiterStore.of({
        fixedWindow({ key, tokens, refillRate, limit }) {
          const turn = counterTurn({ tokens, limit, refillRate: Duration.toMillis(refillRate) });
          return answered((now) => counters(key, turn, now));
        },
        tokenBucket({ key, refillRate, ...rest }) {
          const turn = bucketTurn({ ...rest, refillRate: Duration.toMillis(refillRate) });
          return answered((now) => buckets(key, turn, now));
        },
        adaptiveConsume,
        adaptiveFeedback,
      })),
  ).pipe(Layer.provide(Layer.fresh(layerStoreMemory)));
}

/** Runs a turn at the time of the fiber's clock, or of the store on the default one. */
function answered<Answer>(
  run: (now: number | undefined) => MaybePromise<Answer>,
): Effect.Effect<Answer, RateLimiterError> {
  const ran = Effect.withFiber<Answer>((fiber) =>
    whenSettled(run(timeOf(fiber.getRef(Clock.Clock))), (answer) => Effect.succeed(answer))
  );
  return Effect.catchDefect(ran, failed);
}

function failed(cause: unknown): Effect.Effect<never, RateLimiterError> {
  const message = cause instanceof Error ? cause.message : String(cause);
  return Effect.fail(
    new RateLimiterError({ reason: new RateLimitStoreError({ message, cause }) }),
  );
}
