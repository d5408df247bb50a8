/*
 * A receipt names the store that holds its units. Another store, whose limiter has the same prefix
 * and algorithm, gives nothing back for it: those units are somebody else's.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";

import type { Receipt, Reservation, Settlement, Store, SyncStore } from "../../mod.ts";
import { dump, gcra, limiter, memoryStore, restore, StoreUnavailableError } from "../../mod.ts";
import { fallback } from "../../stores/layered/layered.ts";
import { attachSharedStore, sharedStore } from "../../stores/shared/shared_store.ts";
import { sqliteStore } from "../../stores/sqlite/sqlite_store.ts";
import { interceptedStore } from "../support/intercepted_store.ts";
import { inFolder } from "../support/in_folder.ts";
import { withRedis } from "../support/redis/with_redis.ts";

const algorithm = gcra({ limit: 10, period: "1d", burst: 10 });

/** The calls, whether the store answers at once or by promises. */
interface Calls {
  reserve(key: string, cost: number): Reservation | Promise<Reservation>;
  release(key: string, receipt: Receipt): Settlement | Promise<Settlement>;
  resetAll(): void | Promise<void>;
}

function callsOn(store: Store): Calls {
  return limiter(algorithm, { store: store as never, prefix: "api" }) as unknown as Calls;
}

/** A store that cannot be reached for some of its calls. */
function awayWhile(inner: SyncStore, isAway: () => boolean): SyncStore {
  return interceptedStore(inner, (_calls, proceed) => {
    if (isAway()) throw new StoreUnavailableError("Cannot decide", "no");
    return proceed();
  });
}

/** The units that a store gives back for another store's receipt, with six units taken on each. */
async function releasedOn(makers: Calls, settlers: Calls): Promise<string> {
  await settlers.reserve("key", 6);
  const { receipt } = await makers.reserve("key", 2);
  const { outcome, returned } = await settlers.release("key", JSON.parse(JSON.stringify(receipt)));
  return `${outcome} ${returned}`;
}

describe("a receipt", () => {
  test("of one memory store is unknown to another, and known after a restart", async () => {
    const [one, other] = [memoryStore(), memoryStore()];
    assert.equal(await releasedOn(callsOn(one), callsOn(other)), "unknown 0");
    const { receipt } = await callsOn(one).reserve("key", 2);
    const restored = memoryStore();
    restore(restored, dump(one));
    assert.equal((await callsOn(restored).release("key", receipt!)).returned, 2);
  });

  test("of one shared store is unknown to another, and known to other threads of its own", async () => {
    const [one, other] = [sharedStore({ capacity: 64 }), sharedStore({ capacity: 64 })];
    const thread = attachSharedStore(one.handle);
    assert.equal(await releasedOn(callsOn(one), callsOn(other)), "unknown 0");
    assert.equal(await releasedOn(callsOn(thread), callsOn(one)), "settled 2");
  });

  test("of one SQLite file is unknown to another, and known to whoever opens the same one", () =>
    inFolder(async (folder) => {
      const path = join(folder, "limits.db");
      using one = sqliteStore(path);
      using same = sqliteStore(path);
      using other = sqliteStore(":memory:");
      assert.equal(await releasedOn(callsOn(one), callsOn(other)), "unknown 0");
      assert.equal(await releasedOn(callsOn(same), callsOn(one)), "settled 2");
    }));

  test("is unknown once its keys were forgotten", async () => {
    const store = memoryStore();
    const [one, other] = [callsOn(store), callsOn(store)];
    const { receipt } = await one.reserve("key", 2);
    await one.resetAll();
    await one.reserve("key", 6);
    assert.equal((await one.release("key", receipt!)).outcome, "unknown");
    assert.equal(await releasedOn(other, one), "settled 2");
  });

  test("of a fallback frees no units of the store itself, and the other way round", async () => {
    const inner = memoryStore();
    let isAway = false;
    const store = fallback(awayWhile(inner, () => isAway), memoryStore(), { share: 1 / 2 });
    const calls = callsOn(store);
    const before = (await calls.reserve("key", 3)).receipt!;
    isAway = true;
    const meanwhile = (await calls.reserve("key", 4)).receipt!;
    assert.equal(meanwhile.source, "fallback");
    await assert.rejects(async () => await calls.release("key", before), StoreUnavailableError);
    isAway = false;
    await calls.release("key", meanwhile);
    const { returned, decision } = await calls.release("key", before);
    assert.deepEqual([Math.round(returned), decision.remaining, decision.source], [
      3,
      10,
      undefined,
    ]);
  });

  test("gives nothing back if its store could not be asked for its name", async () => {
    const inner = memoryStore();
    let calls = 0;
    const store = awayWhile(inner, () => ++calls === 2);
    const { receipt } = await callsOn(store).reserve("key", 3);
    assert.equal(receipt!.store, undefined);
    assert.equal((await callsOn(store).release("key", receipt!)).outcome, "unknown");
  });
});

withRedis("a receipt over Redis", (_redis, { storeOf, clientOf }) => {
  for (const commit of ["watch", "cas", "script"] as const) {
    test(`is known to other processes on the same database only, by ${commit}`, async () => {
      const admin = await clientOf();
      await admin.flushAll();
      const [one, same] = [storeOf({ commit }), storeOf({ commit })].map(callsOn);
      assert.equal(await releasedOn(one!, same!), "settled 2");
      const { receipt } = await one!.reserve("key", 2);
      await admin.flushAll();
      await same!.reserve("key", 6);
      assert.equal((await storeOfNewProcess().release("key", receipt!)).outcome, "unknown");

      function storeOfNewProcess(): Calls {
        return callsOn(storeOf({ commit }));
      }
    });
  }
});
