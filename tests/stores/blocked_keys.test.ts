import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { PGlite } from "@electric-sql/pglite";

import { openTelemetryStore } from "../../adapters/otel/otel.ts";
import {
  type Algorithm,
  all,
  block,
  blockable,
  blocked,
  type Decision,
  dump,
  gcra,
  limiter,
  lockout,
  memoryStore,
  restore,
  slidingLog,
  type Store,
  unblock,
} from "../../mod.ts";
import { denyCache, fallback, lease } from "../../stores/layered/layered.ts";
import { compareAndSetStore } from "../../stores/optimistic/compare_and_set.ts";
import { type PostgresStore, postgresStore } from "../../stores/postgres/postgres_store.ts";
import { redisStore } from "../../stores/redis/redis_store.ts";
import { sharedStore } from "../../stores/shared/shared_store.ts";
import { sqliteStore } from "../../stores/sqlite/sqlite_store.ts";
import { mapDriver } from "../support/drivers/map_driver.ts";
import { listedBlocks } from "../support/listed_blocks.ts";
import { upTo } from "../support/seed.ts";
import { startPGlite } from "../support/postgres/start_pglite.ts";
import { withRedis } from "../support/redis/with_redis.ts";
import { newClient } from "../support/redis/new_client.ts";

const MINUTE = 60_000;

const ALGORITHMS = [
  gcra({ limit: 5, period: "5m", burst: 5 }),
  lockout({ limit: 5, period: "5m", lock: "10m" }),
  slidingLog({ limit: 5, period: "5m" }),
  all(
    gcra({ limit: 5, period: "5m", burst: 5 }),
    slidingLog({ limit: 5, period: "5m" }),
  ),
].map((algorithm) => blockable(algorithm));

/** Limiters on one store, whose clock begins at an instant of its own, as Redis needs. */
async function lifeOfABlock(
  store: Store,
  algorithm: Algorithm<unknown, "blocks">,
  prefix: string,
): Promise<void> {
  const start = 1_700_000_000_000;
  let now = start;
  const api = limiter(algorithm, { store, prefix, clock: () => now });
  const seen = async (call: Decision | Promise<Decision>) => {
    const { allowed, remaining, retryAfter } = await call;
    return [allowed, remaining, retryAfter];
  };
  assert.deepEqual(await seen(api.consume("ada", 2)), [true, 3, 0]);
  assert.deepEqual(await seen(block(api, "ada", "1m", { reason: "abuse" })), [true, 0, 0]);
  assert.deepEqual(await seen(api.consume("ada")), [false, 0, MINUTE]);
  assert.deepEqual(await seen(api.peek("ada")), [false, 0, MINUTE]);
  assert.deepEqual(await seen(api.consume("eve")), [true, 4, 0]);
  now += 1_000;
  assert.deepEqual(await seen(block(api, "ada", "10s")), [true, 0, 0]);
  assert.deepEqual(await seen(api.consume("ada")), [false, 0, MINUTE - 1_000]);
  const freed = await unblock(api, "ada");
  assert.equal(freed.remaining, 3);
  assert.deepEqual(await seen(api.consume("ada")), [true, 2, 0]);
  await block(api, "ada", "2m");
  now += 2 * MINUTE - 1;
  assert.equal((await api.consume("ada")).retryAfter, 1);
  now++;
  assert.equal((await api.consume("ada")).allowed, true);
  await block(api, "ada", "1h");
  await api.reset("ada");
  assert.deepEqual(await seen(api.consume("ada")), [true, 4, 0]);

  await block(api, "ada", "forever");
  await block(api, "{50 %}", "1m");
  const other = limiter(algorithm, { store, prefix: `${prefix}*`, clock: () => now });
  await block(other, "eve", "1h");
  assert.deepEqual(await seen(api.consume("ada")), [false, 0, Infinity]);
  if ("grow" in store) return assert.throws(() => blocked(api), /its store must list its keys/);
  assert.deepEqual(await listedBlocks(api), [["ada", Infinity], ["{50 %}", MINUTE]]);
  assert.deepEqual(await listedBlocks(other), [["eve", 60 * MINUTE]]);
  now += MINUTE;
  assert.deepEqual(await listedBlocks(api), [["ada", Infinity]]);
  await unblock(api, "ada");
  assert.deepEqual(await listedBlocks(api), []);
}

/** More keys than a page of a list has, which a database and a program may put in another order. */
async function listsMany(store: Store): Promise<void> {
  const api = limiter(ALGORITHMS[0]!, { store, prefix: "many" });
  const letters = ["a", "B", "_", "\u00e9", "\uffee", "\u{1f600}", "{%}"];
  const keys = letters.flatMap((one) => upTo(200).map((index) => `${one} ${index}`)).sort();
  await Promise.all(keys.map(async (key) => await block(api, key, "forever")));
  const found = new Map(await listedBlocks(api));
  assert.deepEqual([...found.keys()].sort(), keys);
}

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
    for (const algorithm of ALGORITHMS) {
      test(algorithm.id, () => lifeOfABlock(make(), algorithm, "blocks"));
    }
  });
}

describe("blocks by hand on postgresStore:", () => {
  let database: PGlite;
  let store: PostgresStore;
  before(async () => {
    database = await startPGlite();
    store = postgresStore(database, { deadline: 30_000, timeout: 60_000 });
    await store.migrate();
  });
  after(async () => {
    await store.close();
    await database.close();
  });
  for (const algorithm of ALGORITHMS) {
    test(algorithm.id, () => lifeOfABlock(store, algorithm, "blocks"));
  }
  test("some at a time", () => listsMany(store));
});

test("blocks on sqliteStore are listed some at a time", () => listsMany(sqliteStore(":memory:")));

for (const commit of ["watch", "cas", "script"] as const) {
  withRedis(`blocks by hand on redisStore by ${commit}`, (redis) => {
    const stores: Store[] = [];
    after(() => Promise.all(stores.map((store) => store.close())));
    for (const algorithm of ALGORITHMS) {
      test(algorithm.id, async () => {
        const client = newClient(redis().url);
        const hashTag = commit === "cas" ? () => "tag" : undefined;
        const store = redisStore(client, { commit, hashTag, deadline: 5_000, timeout: 30_000 });
        stores.push(store);
        await lifeOfABlock(store, algorithm, commit);
      });
    }
  });
}

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
  assert.equal(api.consume("ada").allowed, true);
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
