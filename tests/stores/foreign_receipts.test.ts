/*
 * A receipt names its key and its limiter, and the random number of the key's list of open receipts. A
 * key in another store, or one that was forgotten and begun again, has another list: it gives nothing
 * back for the receipt, because those units are somebody else's.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";

import type { AsyncLimiter, Limiter, Receipt, Store, SyncStore } from "../../mod.ts";
import {
  dump,
  gcra,
  limiter,
  memoryStore,
  release,
  reservable,
  reserve,
  restore,
  StoreUnavailableError,
} from "../../mod.ts";
import { fallback } from "../../stores/layered/layered.ts";
import { attachSharedStore, sharedStore } from "../../stores/shared/shared_store.ts";
import { sqliteStore } from "../../stores/sqlite/sqlite_store.ts";
import { interceptedStore } from "../support/intercepted_store.ts";
import { inFolder } from "../support/in_folder.ts";
import { withRedis } from "../support/redis/with_redis.ts";

const algorithm = reservable(gcra({ limit: 10, period: "1d", burst: 10 }));

type Api = Limiter | AsyncLimiter;

function on(store: Store, prefix = "api"): Api {
  return limiter(algorithm, { store: store as never, prefix });
}

/** A store that cannot be reached for some of its calls. */
function awayWhile(inner: SyncStore, isAway: () => boolean): SyncStore {
  return interceptedStore(inner, (_calls, proceed) => {
    if (isAway()) throw new StoreUnavailableError("Cannot decide", "no");
    return proceed();
  });
}

/**
 * The outcome of a receipt of one limiter's key for that of another, and the units that it freed.
 * Each has taken units of its own before, so that both receipts have the same number.
 */
async function releasedOn(makers: Api, settlers: Api): Promise<string> {
  await reserve(settlers, "key", 6);
  const { receipt } = await reserve(makers, "key", 2);
  const before = (await settlers.peek("key", 0)).remaining;
  const sent: Receipt = JSON.parse(JSON.stringify(receipt));
  const { outcome, returned, decision } = await release(settlers, "key", sent);
  assert.equal(decision.remaining - before, returned);
  return `${outcome} ${returned}`;
}

/** Requires that receipts of another key, limiter, or beginning of the key are unknown to a store. */
async function requireOwn(store: Store): Promise<void> {
  const api = on(store);
  assert.equal(await releasedOn(on(store, "other"), api), "unknown 0");
  const { receipt } = await reserve(api, "owned", 2);
  await reserve(api, "elsewhere", 2);
  for (const claimed of [receipt!, { ...receipt!, key: "elsewhere" }]) {
    const { outcome } = await release(api, "elsewhere", claimed);
    assert.equal(outcome, "unknown");
  }
  await api.reset("owned");
  await reserve(api, "owned", 2);
  assert.equal((await release(api, "owned", receipt!)).outcome, "unknown");
  assert.equal((await api.peek("owned", 0)).remaining, 8);
  await api.resetPrefix();
}

describe("a receipt", () => {
  test("of one memory store is unknown to another, and known after a restart", async () => {
    const [one, other] = [memoryStore(), memoryStore()];
    await requireOwn(one);
    assert.equal(await releasedOn(on(one), on(other)), "unknown 0");
    const { receipt } = await reserve(on(one), "key", 2);
    const restored = memoryStore();
    restore(restored, dump(one));
    assert.equal((await release(on(restored), "key", receipt!)).returned, 2);
  });

  test("of one shared store is unknown to another, and known to other threads of its own", async () => {
    const [one, other] = [sharedStore({ capacity: 64 }), sharedStore({ capacity: 64 })];
    await requireOwn(one);
    const thread = attachSharedStore(one.handle);
    assert.equal(await releasedOn(on(one), on(other)), "unknown 0");
    assert.equal(await releasedOn(on(thread), on(one)), "settled 2");
  });

  test("of one SQLite file is unknown to another, and known to whoever opens the same one", () =>
    inFolder(async (folder) => {
      const path = join(folder, "limits.db");
      using one = sqliteStore(path);
      using same = sqliteStore(path);
      using other = sqliteStore(":memory:");
      await requireOwn(one);
      assert.equal(await releasedOn(on(one), on(other)), "unknown 0");
      assert.equal(await releasedOn(on(same), on(one)), "settled 2");
    }));

  test("of a fallback frees no units of the store itself, and the other way round", async () => {
    let isAway = false;
    const inner = awayWhile(memoryStore(), () => isAway);
    const api = on(fallback(inner, memoryStore(), { share: 1 / 2 }));
    const before = (await reserve(api, "key", 3)).receipt!;
    isAway = true;
    const meanwhile = (await reserve(api, "key", 4)).receipt!;
    assert.equal(meanwhile.source, "fallback");
    await assert.rejects(async () => await release(api, "key", before), StoreUnavailableError);
    isAway = false;
    const freed = await release(api, "key", meanwhile);
    assert.equal((await api.peek("key", 0)).remaining, 7, freed.outcome);
    const { returned, decision } = await release(api, "key", before);
    const seen = [Math.round(returned), decision.remaining, decision.source];
    assert.deepEqual(seen, [3, 10, undefined]);
  });
});

withRedis("a receipt over Redis", (_redis, { storeOf, clientOf }) => {
  for (const commit of ["watch", "cas", "script"] as const) {
    test(`is known to other processes on the same database only, by ${commit}`, async () => {
      const admin = await clientOf();
      await admin.flushAll();
      await requireOwn(storeOf({ commit }));
      const [one, same] = [on(storeOf({ commit })), on(storeOf({ commit }))];
      assert.equal(await releasedOn(one, same), "settled 2");
      const { receipt } = await reserve(one, "key", 2);
      await admin.flushAll();
      await reserve(same, "key", 6);
      assert.equal((await release(on(storeOf({ commit })), "key", receipt!)).outcome, "unknown");
      assert.equal((await same.peek("key", 0)).remaining, 4);
    });
  }
});
