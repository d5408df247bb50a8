import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { virtualClock } from "../../../adapters/testing/testing.ts";
import { storesInTurn } from "../../support/stores_in_turn.ts";
import {
  acquire,
  gcra,
  leakyQueue,
  limiter,
  memoryStore,
  type Store,
  type SyncStore,
} from "../../../mod.ts";
import { openTelemetryStore } from "../../../adapters/otel/open_telemetry_store.ts";
import { denyCache } from "../../../stores/layered/deny_cache.ts";
import { fallback } from "../../../stores/layered/fallback.ts";
import { lease } from "../../../stores/layered/lease.ts";
import { sharedStore } from "../../../stores/shared/shared_store.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";
import { interceptedStore } from "../../support/intercepted_store.ts";
import { withRedis } from "../../support/redis/with_redis.ts";

const shared = () => sharedStore({ capacity: 100 });
const STORES: Readonly<Record<string, () => Store>> = {
  memoryStore,
  "a store that answers by promises": asyncMemoryStore,
  sharedStore: shared,
  denyCache: () => denyCache(memoryStore()),
  "denyCache over a store of promises": () => denyCache(asyncMemoryStore()),
  fallback: () => fallback(memoryStore(), memoryStore(), { share: 1 }),
  "denyCache over fallback over shared stores": () =>
    denyCache(fallback(shared(), shared(), { share: 1 })),
  storesInTurn() {
    const store = memoryStore();
    return storesInTurn([store, store]);
  },
};

/** How a call ended: its error's name, and what that says of the charge. */
function ending(call: Promise<unknown>): Promise<unknown> {
  return call.then(() => "admitted", ({ name, applied }) => `${name} ${applied}`);
}

/** Closes a store on which callers wait, in a queue and, where the store allows it, in a delay. */
async function closeWhileWaiting(
  store: Store,
  delays: boolean,
  close = store.close,
): Promise<void> {
  const clock = virtualClock(1_790_000_000_000);
  const options = { store: store as SyncStore, clock };
  const api = limiter(gcra({ limit: 2, period: "1h", burst: 2 }), { ...options, prefix: "api" });
  await api.consume("key", 2);
  const queued = [ending(acquire(api, "key"))];
  const delayed: Promise<unknown>[] = [];
  if (delays) {
    const queue = leakyQueue({ limit: 1, period: "1h", queue: 9 });
    const paced = limiter(queue, { ...options, prefix: "paced" });
    await paced.consume("key");
    delayed.push(ending(acquire(paced, "key")));
  }
  await until(() => clock.sleepers === (delays ? 2 : 1));
  queued.push(ending(acquire(api, "key", { signal: new AbortController().signal })));
  await close();
  assert.deepEqual(await Promise.all(queued), Array(2).fill("StoreUnavailableError no"));
  for (const end of await Promise.all(delayed)) assert.equal(end, "StoreUnavailableError unknown");
  assert.equal(clock.sleepers, 0, "no timer is left");
  assert.equal(await ending(acquire(api, "key")), "StoreUnavailableError no");
  assert.equal(clock.sleepers, 0);
}

/** Waits for real answers, such as those of Redis. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 1));
}

describe("a closed store fails its waiting callers at once:", () => {
  for (const [name, make] of Object.entries(STORES)) {
    test(name, () => closeWhileWaiting(make(), true));
  }

  test("lease", () => closeWhileWaiting(lease(memoryStore(), { units: 2, ttl: 1_000 }), false));

  for (const wrap of [denyCache, openTelemetryStore] as ((store: Store) => Store)[]) {
    test(`${wrap.name}, whose inner store was closed by itself`, () => {
      const inner = memoryStore();
      return closeWhileWaiting(wrap(inner), true, () => inner.close());
    });
  }

  test("many, a few at a time", async () => {
    const clock = virtualClock(1_790_000_000_000);
    const store = memoryStore();
    const api = limiter(gcra({ limit: 1, period: "1h", burst: 1 }), {
      store,
      prefix: "api",
      clock,
    });
    const calls = Array.from({ length: 1_000 }, () => ending(acquire(api, "key")));
    store.close();
    await clock.pass(0);
    const ends = new Set(await Promise.all(calls));
    assert.deepEqual(ends, new Set(["admitted", "StoreUnavailableError no"]));
    assert.equal(clock.sleepers, 0);
  });

  test("a caller with a call under way learns that it may have been applied", async () => {
    const store = interceptedStore(asyncMemoryStore(), () => new Promise(() => {}));
    const api = limiter(gcra({ limit: 1, period: "1h", burst: 1 }), { store, prefix: "api" });
    const calls = [ending(acquire(api, "key")), ending(acquire(api, "key", { maxWait: 10_000 }))];
    await store.close();
    const ends = ["StoreUnavailableError unknown", "StoreUnavailableError no"];
    assert.deepEqual(await Promise.all(calls), ends);
  });
});

test("a fallback outlives its first store", async () => {
  const clock = virtualClock(1_790_000_000_000);
  const first = memoryStore();
  const store = fallback(first, memoryStore(), { share: 1 });
  const api = limiter(gcra({ limit: 1, period: 1_000, burst: 1 }), { store, prefix: "api", clock });
  api.consume("key");
  const call = acquire(api, "key");
  first.close();
  await clock.pass(1_000);
  assert.equal((await call).source, "fallback");
});

withRedis("a redisStore that is closed", (_redis, { storeOf }) => {
  test("fails waiting callers at once", () => closeWhileWaiting(storeOf(), true));
});
