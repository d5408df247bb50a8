/*
 * A thread that takes from one key with many fibers, together with others that do the same, and
 * posts how often it was admitted. Started by shared.test.ts.
 */
import { parentPort, workerData } from "node:worker_threads";
import { Effect, Layer } from "effect";
import { RateLimiter as EffectRateLimiter } from "effect/persistence";

import {
  layerAttached,
  layerRateLimiterStore,
  limit,
  RateLimiter,
} from "../../../../adapters/effect/effect.ts";
import { gcra } from "../../../../mod.ts";
import { attachSharedStore } from "../../../../stores/shared/shared_store.ts";

const { handle, fibers, calls } = workerData;
const api = limit("api", gcra({ limit: 1_000, period: "1d", burst: 1_000 }));

const own = Effect.gen(function* () {
  const limiter = yield* RateLimiter;
  let admitted = 0;
  const take = Effect.map(limiter.consume(api, "key"), ({ allowed }) => allowed && admitted++);
  const fiber = Effect.repeat(take, { times: calls - 1 });
  yield* Effect.all(Array.from({ length: fibers }, () => fiber), { concurrency: "unbounded" });
  return admitted;
}).pipe(Effect.provide(layerAttached(handle)));

const store = attachSharedStore(handle);
const theirs = Effect.gen(function* () {
  const limiter = yield* EffectRateLimiter.RateLimiter;
  let admitted = 0;
  const take = Effect.match(
    limiter.consume({ key: "key", limit: 1_000, window: "1 day", algorithm: "token-bucket" }),
    { onSuccess: () => admitted++, onFailure: () => {} },
  );
  yield* Effect.repeat(take, { times: fibers * calls - 1 });
  return admitted;
}).pipe(
  Effect.provide(Layer.provide(EffectRateLimiter.layer, layerRateLimiterStore(store))),
);

const admitted = await Effect.runPromise(Effect.all([own, theirs]));
store.close();
parentPort!.postMessage(admitted);
