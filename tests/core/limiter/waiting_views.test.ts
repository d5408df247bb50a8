import assert from "node:assert/strict";
import { test } from "node:test";

import {
  type Algorithm,
  all,
  fixedWindow,
  gcra,
  leakyQueue,
  limiter,
  memoryStore,
  slidingCounter,
  slidingLog,
  slidingWindow,
  type SyncStore,
} from "../../../mod.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";
import { outcome, settledOf } from "../../support/outcomes.ts";
import { testClock } from "../../support/test_clock.ts";
import { viewStore } from "../../support/view_store.ts";

const second = { limit: 2, period: 1_000 };
const algorithms: readonly Algorithm[] = [
  gcra(second),
  fixedWindow(second),
  slidingCounter(second),
  slidingLog(second),
  slidingWindow({ ...second, precision: 10 }),
  leakyQueue({ ...second, queue: 1 }),
  all(slidingLog(second), slidingWindow({ limit: 3, period: 2_000, precision: 100 }), gcra(second)),
];

/** When each of several callers with a maxWait was answered, and what. */
async function outcomes(algorithm: Algorithm, store: SyncStore): Promise<readonly string[]> {
  const clock = testClock();
  const start = clock();
  const api = limiter(algorithm, { store, prefix: "test", clock });
  const seen: string[] = [];
  const waits = [0, 300, 5_000, 700, Infinity, 1_500, 4_000, 100];
  const calls = waits.map(async (maxWait, place) => {
    const outcome = await api.acquire("key", { maxWait }).then(
      () => "admitted",
      (error) => `${error.name}: ${error.message}`,
    );
    seen.push(`${place} at ${clock() - start}: ${outcome}`);
  });
  await clock.advance(450);
  api.refund("key");
  await clock.advance(60_000);
  await settledOf(calls);
  return seen;
}

for (const algorithm of algorithms) {
  test(`callers with a maxWait read no state of ${algorithm.id} after its call has ended`, async () => {
    assert.deepEqual(
      await outcomes(algorithm, viewStore()),
      await outcomes(algorithm, memoryStore()),
    );
  });
}

test("whoever cannot wait is refused at once, even while the head's call is under way", async () => {
  const clock = testClock();
  const api = limiter(gcra({ limit: 1, period: 10_000 }), {
    store: asyncMemoryStore(),
    prefix: "test",
    clock,
  });
  await api.consume("key");
  const unlimited = outcome(api.acquire("key"));
  const hopeless = outcome(api.acquire("key", { maxWait: 10 }));
  await clock.advance(0);
  assert.deepEqual(await settledOf([hopeless]), ["RateLimitedError"]);
  await clock.advance(20_000);
  assert.deepEqual(await settledOf([unlimited]), ["admitted"]);
});
