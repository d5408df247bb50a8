import assert from "node:assert/strict";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { Effect } from "effect";

import { layerShared, SharedHandle } from "../../../adapters/effect/effect.ts";

const WORKER = new URL("./support/taking_worker.ts", import.meta.url);

/** How often a thread was admitted: by the service, and by Effect's own limiter. */
function admissionsOf(handle: SharedHandle): Promise<readonly [own: number, theirs: number]> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(WORKER, { workerData: { handle, fibers: 10, calls: 75 } });
    worker.once("error", reject);
    worker.once("message", (admitted) => {
      worker.terminate().then(() => resolve(admitted), reject);
    });
  });
}

test("threads that share a store are admitted exactly as often as the limit says", async () => {
  const program = Effect.gen(function* () {
    const handle = yield* SharedHandle;
    return yield* Effect.promise(() =>
      Promise.all(Array.from({ length: 2 }, () => admissionsOf(handle)))
    );
  });
  const layer = layerShared({ capacity: 100 });
  const admitted = await Effect.runPromise(Effect.provide(program, layer));
  const sum = (index: 0 | 1) => admitted.reduce((sum, thread) => sum + thread[index], 0);
  assert.deepEqual([sum(0), sum(1)], [1_000, 1_000]);
});
