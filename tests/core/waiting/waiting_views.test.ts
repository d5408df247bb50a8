import assert from "node:assert/strict";
import { test } from "node:test";

import {
  acquire,
  type Algorithm,
  block,
  blockable,
  gcra,
  limiter,
  memoryStore,
  slidingLog,
  type SyncStore,
} from "../../../mod.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";
import { virtualClock } from "../../../adapters/testing/testing.ts";
import { names, policy } from "../../support/policies.ts";
import { outcome, settledOf } from "../../support/outcomes.ts";
import { viewStore } from "../../support/view_store.ts";

/** When each of several callers with a maxWait was answered, and what. */
async function outcomes(algorithm: Algorithm, store: SyncStore): Promise<readonly string[]> {
  const clock = virtualClock(1_764_000_000_000);
  const start = clock();
  const api = limiter(algorithm, { store, prefix: "test", clock });
  const seen: string[] = [];
  if (algorithm.internals?.blocks !== undefined) block(api as never, "key", 1_200);
  const waits = [0, 300, 5_000, 700, Infinity, 1_500, 4_000, 100];
  const calls = waits.map(async (maxWait, index) => {
    const outcome = await acquire(api, "key", { maxWait }).then(
      () => "admitted",
      (error) => `${error.name}: ${error.message}`,
    );
    seen.push(`${index} at ${clock() - start}: ${outcome}`);
  });
  await clock.pass(450);
  api.refund("key");
  await clock.pass(60_000);
  await settledOf(calls);
  return seen;
}

const policies = names.filter((name) => name !== "finestWindow")
  .map((name) => [name, policy(name, 2, 3_600)] as const);
const blocked = blockable(slidingLog({ limit: 2, period: 3_600 })) as Algorithm;

for (const [name, algorithm] of [...policies, ["a key that is blocked", blocked] as const]) {
  test(`callers with a maxWait read no state of ${name} after its call has ended`, async () => {
    assert.deepEqual(
      await outcomes(algorithm, viewStore()),
      await outcomes(algorithm, memoryStore()),
    );
  });
}

test("whoever cannot wait is refused at once, even while the head's call is under way", async () => {
  const clock = virtualClock(1_764_000_000_000);
  const api = limiter(gcra({ limit: 1, period: 10_000, burst: 1 }), {
    store: asyncMemoryStore(),
    prefix: "test",
    clock,
  });
  await api.consume("key");
  const unlimited = outcome(acquire(api, "key"));
  const hopeless = outcome(acquire(api, "key", { maxWait: 10 }));
  await clock.pass(0);
  assert.deepEqual(await settledOf([hopeless]), ["RateLimitedError"]);
  await clock.pass(20_000);
  assert.deepEqual(await settledOf([unlimited]), ["admitted"]);
});
