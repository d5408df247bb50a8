import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { openTelemetryStore } from "../../adapters/otel/otel.ts";
import {
  block,
  blockable,
  dump,
  gcra,
  limiter,
  lockout,
  memoryStore,
  restore,
  type Store,
  unblock,
} from "../../mod.ts";
import { denyCache, fallback, lease } from "../../stores/layered/layered.ts";
import { compareAndSetStore } from "../../stores/optimistic/compare_and_set.ts";
import { sharedStore } from "../../stores/shared/shared_store.ts";
import { sqliteStore } from "../../stores/sqlite/sqlite_store.ts";
import { BLOCKABLE, lifeOfABlock, listedBlocks, listsMany } from "../support/blocks.ts";
import { mapDriver } from "../support/drivers/map_driver.ts";
import { withRedis } from "../support/redis/with_redis.ts";

const STORES: Readonly<Record<string, () => Store>> = {
  memoryStore: () => memoryStore(),
  sharedStore: () => sharedStore({ capacity: 64 }),
  denyCache: () => denyCache(memoryStore()),
  fallback: () => fallback(memoryStore(), memoryStore(), { share: 1 }),
  openTelemetryStore: () => openTelemetryStore(memoryStore()),
  "a store on a driver": () => compareAndSetStore(mapDriver()),
  sqliteStore: () => sqliteStore(":memory:"),
  "sqliteStore by turns": () => sqliteStore(":memory:", { batch: "turn" }),
};

for (const [name, make] of Object.entries(STORES)) {
  describe(`blocks by hand on ${name}:`, () => {
    for (const algorithm of BLOCKABLE) {
      test(algorithm.id, () => lifeOfABlock(make(), algorithm, "blocks"));
    }
  });
}

test("blocks on sqliteStore are listed some at a time", () => listsMany(sqliteStore(":memory:")));

withRedis("blocks by hand on redisStore", (_redis, { storeOf }) => {
  for (const commit of ["watch", "cas", "script"] as const) {
    for (const algorithm of BLOCKABLE) {
      test(`by ${commit}: ${algorithm.id}`, async () => {
        const hashTag = commit === "cas" ? () => "tag" : undefined;
        await lifeOfABlock(storeOf({ commit, hashTag }), algorithm, commit);
      });
    }
  }
});

test("blocks outlast a snapshot and changed options, and many keys are listed in turns", async () => {
  const algorithm = blockable(gcra({ limit: 5, period: "5m", burst: 5 }));
  const [clock, prefix] = [() => 1_700_000_000_000, "api"];
  const store = memoryStore();
  const api = limiter(algorithm, { store, prefix, clock });
  for (let key = 0; key < 3_000; key++) api.consume(`${key}`);
  for (const key of ["ada", "eve"]) block(api, key, "forever");
  const restored = memoryStore();
  restore(restored, dump(store), { now: clock() });
  const older = { algorithm, mode: "keep" } as const;
  const changed = blockable(gcra({ limit: 9, period: "5m", burst: 9 }));
  const after = limiter(changed, { store: restored, prefix, clock, replaces: older });
  const both = [["ada", Infinity], ["eve", Infinity]];
  assert.deepEqual(
    await listedBlocks(limiter(algorithm, { store: restored, prefix, clock })),
    both,
  );
  assert.deepEqual(await listedBlocks(after), both);
  unblock(after, "ada");
  assert.deepEqual(await listedBlocks(after), [["eve", Infinity]]);
  store.close();
  await assert.rejects(listedBlocks(api), { name: "StoreUnavailableError" });
});

test("a lease uses none of its units on a blocked key, and asks again after the block", () => {
  const store = lease(memoryStore(), { units: 4, ttl: "1h" });
  const algorithm = blockable(gcra({ limit: 100, period: "1h", burst: 100 }));
  const api = limiter(algorithm, { store, prefix: "leased", clock: () => 0 });
  // The block of the second call has a unit left.
  for (let calls = 0; calls < 2; calls++) assert.equal(api.consume("ada").allowed, true);
  block(api, "ada", "1m");
  assert.equal(api.consume("ada").allowed, false);
  unblock(api, "ada");
  assert.equal(api.consume("ada").allowed, true);
  const locking = blockable(lockout({ limit: 5, period: "1m", lock: "1m" }));
  assert.throws(() => limiter(locking, { store, prefix: "locks" }), RangeError);
});

test("a fallback unblocks a key that either store has blocked, and refuses on its own in between", () => {
  const first = memoryStore();
  const other = memoryStore();
  const algorithm = blockable(gcra({ limit: 10, period: "1h", burst: 10 }));
  const options = { prefix: "a", clock: () => 0 };
  const api = limiter(algorithm, { ...options, store: fallback(first, other, { share: 0.5 }) });
  const blockOn = (
    store: Store,
    of = algorithm,
  ) => (block(limiter(of, { ...options, store }), "ada", "1m"));
  blockOn(first);
  blockOn(other);
  unblock(api, "ada");
  assert.equal(api.consume("ada").allowed, true);
  blockOn(other);
  first.close();
  assert.equal(api.consume("ada").source, "fallback");
  assert.equal(api.consume("ada").allowed, false);
  unblock(api, "ada");
  assert.equal(api.consume("ada").allowed, true);
  assert.equal(block(api, "ada", "1m").source, "fallback");
  assert.equal(api.consume("ada").allowed, false);
});
