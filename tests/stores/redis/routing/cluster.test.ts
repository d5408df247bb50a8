import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";

import {
  block,
  blockable,
  consumeAll,
  ContentionError,
  type Decision,
  gcra,
  limiter,
  StoreUnavailableError,
} from "../../../../mod.ts";
import {
  type RedisStore,
  redisStore,
  type RedisStoreOptions,
} from "../../../../stores/redis/redis_store.ts";
import { hashSlot } from "../../../../stores/redis/routing/hash_slot.ts";
import {
  type RedisClusterProcess,
  startCluster,
  tell,
  until,
  untilServed,
} from "../../../support/redis/redis_cluster.ts";
import { listedBlocks } from "../../../support/blocks.ts";
import { needs } from "../../../support/program.ts";
import { newCluster } from "../../../support/redis/new_cluster.ts";
import type { RedisProcess } from "../../../support/redis/redis_process.ts";
import { drawn } from "../../../support/seed.ts";
import { WAYS } from "../../../support/several_limits.ts";

const MODES = ["watch", "cas", "script"] as const;

const redis = needs("redis-server");

/** So slow that nothing comes back within a test. */
const narrow = gcra({ limit: 2, period: "1h", burst: 2 });
const slow = gcra({ limit: 1, period: "1d", burst: 2_000 });

describe("a cluster of six nodes", redis, () => {
  let cluster: RedisClusterProcess;
  let open: RedisStore[] = [];

  before(async () => {
    if (!redis.skip) cluster = await startCluster();
  });
  afterEach(async () => {
    await Promise.all(open.map((store) => store.close()));
    open = [];
  });
  after(async () => {
    await cluster?.stop();
  });

  function storeOf(options: RedisStoreOptions) {
    const rootNodes = cluster.masters.map(({ url }) => ({ url }));
    const store = redisStore(newCluster({ rootNodes }), {
      deadline: 5_000,
      timeout: 30_000,
      ...options,
    });
    open.push(store);
    return store;
  }

  test("a request with limits in several slots takes all or none, however it is made", async () => {
    const store = storeOf({});
    for (const [name, { isAllOrNone, least, open }] of Object.entries(WAYS)) {
      const request = open(store, store, `slots of ${name}`, 4);
      const fresh = await request.left();
      assert.equal(await request.ask(), true, name);
      assert.deepEqual(await request.left(), fresh.map((left) => left - 1), name);
      if (!isAllOrNone) continue;
      const refused = open(store, store, `refusals of ${name}`, 4);
      await refused.useUp(least);
      const before = await refused.left();
      assert.equal(await refused.ask(), false, name);
      assert.deepEqual(await refused.left(), before, name);
    }
  });

  for (const commit of drawn(MODES)) {
    test(
      `keeps limits on keys of all nodes, by ${commit}`,
      async () => {
        const store = storeOf({ commit });
        const api = limiter(gcra({ limit: 1, period: "1d", burst: 5 }), { store, prefix: commit });
        const keys = Array.from({ length: 60 }, (_, index) => `key ${index}`);
        const decisions = await Promise.all(
          keys.flatMap((key) => Array.from({ length: 8 }, () => api.consume(key))),
        );
        assert.equal(decisions.filter(({ allowed }) => allowed).length, 5 * keys.length);
        await Promise.all(keys.map((key) => api.reset(key)));
        assert.equal((await api.peek("key 7", 0)).remaining, 5);
      },
    );
  }

  test("forgets all keys of a prefix on every node, and no others", async () => {
    const store = storeOf({});
    const [one, beside] = ["all*", "all*b"].map((prefix) => limiter(slow, { store, prefix }));
    const keys = Array.from({ length: 100 }, (_, index) => `key ${index}`);
    await Promise.all([one!, beside!].flatMap((api) => keys.map((key) => api.consume(key))));
    await one!.resetPrefix();
    const left = await Promise.all(keys.map((key) => one!.peek(key, 0)));
    assert.ok(left.every(({ remaining }) => remaining === 2_000));
    const others = await Promise.all(keys.map((key) => beside!.peek(key, 0)));
    assert.ok(others.every(({ remaining }) => remaining === 1_999));
  });

  test("lists the blocked keys of every node", async () => {
    const api = limiter(blockable(slow), { store: storeOf({}), prefix: "blocks" });
    const keys = Array.from({ length: 100 }, (_, index) => `key ${index}`).sort();
    await Promise.all(keys.map((key) => block(api, key, "forever")));
    assert.deepEqual(await listedBlocks(api), keys.map((key) => [key, Infinity]));
  });

  test("takes several keys at once in one slot, and of several slots in turn, all or none", async () => {
    const store = storeOf({ hashTag: (key) => key.split("/")[0]! });
    const [one, two] = ["one", "two"].map((prefix) => limiter(narrow, { store, prefix }));
    const left = async (...[limiter, key]: readonly [typeof one, string]) =>
      (await limiter!.peek(key, 0)).remaining;
    const together = [{ limiter: one!, key: "tenant/a" }, { limiter: two!, key: "tenant/b" }];
    assert.equal((await consumeAll(together)).allowed, true);
    const apart = [{ limiter: one!, key: "tenant/a" }, { limiter: two!, key: "other/b" }];
    for (const expected of [true, false]) {
      assert.equal((await consumeAll(apart)).allowed, expected);
      assert.equal(await left(one, "tenant/a"), 0);
      assert.equal(await left(two, "other/b"), 1);
    }
    const refusing = [{ limiter: one!, key: "new/a" }, { limiter: one!, key: "tenant/a" }];
    assert.deepEqual((await consumeAll(refusing)).parts?.map(({ allowed }) => allowed), [
      true,
      false,
    ]);
    assert.equal(await left(one, "new/a"), 2);
  });

  for (const commit of drawn(MODES)) {
    test(
      `keeps a limit while its slot moves to another node, by ${commit}`,
      async () => {
        const stores = [storeOf({ commit }), storeOf({ commit })];
        const limiters = stores.map((store) => limiter(slow, { store, prefix: `move ${commit}` }));
        const stored = `move ${commit}:{moved}:${slow.id}`;
        const slot = hashSlot(stored);
        await Promise.all(limiters.map((api) => api.peek("moved", 0)));
        const [from, to] = await ownerAndOther(cluster, slot);

        let admitted = 0;
        let moving = true;
        const load = limiters.map(async (api) => {
          for (let calls = 0; moving || calls < 1_200; calls++) {
            if (await wasAdmitted(api.consume("moved"))) admitted++;
            if (calls % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
          }
        });
        await cluster.moveSlot(slot, from, to);
        moving = false;
        await Promise.all(load);
        const used = slow.capacity - (await limiters[0]!.peek("moved", 0)).remaining;
        assert.equal(admitted, used);
        assert.ok(await tell<number>(to, "EXISTS", stored), "the key is where its slot is");
      },
    );
  }

  test("a master that hangs is left once its replica has taken over", async () => {
    const hung = cluster.masters[2]!;
    const prefix = "hung";
    const keyOn = await keysByMaster(cluster, `${prefix}:{`, `}:${slow.id}`);
    const key = keyOn.get(hung.port)!;
    const limiters = MODES.map((commit) =>
      limiter(slow, { store: storeOf({ commit, deadline: 1_000 }), prefix })
    );
    for (const api of limiters) for (const each of keyOn.values()) await api.consume(each);
    hung.signal("SIGSTOP");
    try {
      // A store that starts in the meantime knows the hung node by its options only.
      const young = limiter(slow, { store: storeOf({ deadline: 1_000 }), prefix });
      assert.equal((await young.consume(keyOn.get(cluster.masters[1]!.port)!)).allowed, true);
      for (const api of [...limiters, young]) {
        let failures = 0;
        await until(() =>
          Promise.resolve(api.consume(key)).then(() => true, (error) => {
            assert.ok(error instanceof StoreUnavailableError, String(error));
            failures++;
            return false;
          })
        );
        if (api === limiters[0]) assert.ok(failures > 0, "it took some time");
      }
    } finally {
      hung.signal("SIGCONT");
    }
    // It comes back as a replica, and takes its slots again for what follows.
    await until(async () =>
      (await tell<string>(hung, "INFO", "replication")).includes("master_link_status:up")
    );
    await takeSlotsBack(hung);
    const used = await Promise.all(
      limiters.map(async (api) => slow.capacity - (await api.peek(key, 0)).remaining),
    );
    assert.deepEqual(used, used.map(() => used[0]!));
  });

  test("loses a master under load: other slots go on, and its own come back", async () => {
    const stores = MODES.map((commit) => storeOf({ commit }));
    const limiters = stores.map((store, index) =>
      limiter(gcra({ limit: 1, period: "1d", burst: 200 }), { store, prefix: MODES[index]! })
    );
    const [dying, ...living] = cluster.masters;
    const keyOn = await keysByMaster(cluster, `watch:{`, `}:${limiters[0]!.algorithm.id}`);
    const dead = keyOn.get(dying!.port)!;
    // The cluster may be down for a moment yet after the test before.
    for (const api of limiters) for (const key of keyOn.values()) await untilServed(api, key);
    await new Promise((resolve) => setTimeout(resolve, 100));

    await dying!.kill();
    const killed = performance.now();
    let promoted = Infinity;
    const watching = (async () => {
      while (promoted === Infinity && performance.now() - killed < 60_000) {
        const role = await tell<string>(cluster.replicas[0]!, "INFO", "replication").catch(() =>
          ""
        );
        if (role.includes("role:master")) promoted = performance.now() - killed;
        else await new Promise((resolve) => setTimeout(resolve, 10));
      }
    })();

    const admitted = new Map<string, number>();
    const back = await Promise.all(limiters.map(async (api, index) => {
      let firstBack = Infinity;
      while (performance.now() - killed < 60_000 && firstBack === Infinity) {
        for (const { port } of living) {
          const key = keyOn.get(port)!;
          const decision = await api.consume(key).catch((error) => {
            // While the map is renewed a call may fail so; a limit is never broken for it.
            assert.ok(error instanceof StoreUnavailableError);
          });
          const name = `${index} ${key}`;
          if (decision?.allowed) admitted.set(name, (admitted.get(name) ?? 0) + 1);
        }
        if (await api.consume(dead).then(() => true, () => false)) {
          firstBack = performance.now() - killed;
        }
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      return firstBack;
    }));
    await watching;
    assert.ok(
      admitted.size === MODES.length * living.length,
      "the living slots were served all along",
    );
    for (const units of admitted.values()) assert.ok(units <= 199);
    assert.ok(Math.max(promoted, ...back) < Infinity, `promoted ${promoted}, back ${back}`);
  });
});

/** Makes a replica a master again. A node drops such an attempt after 5 seconds, and says nothing. */
async function takeSlotsBack(replica: RedisProcess) {
  let tried = -Infinity;
  await until(async () => {
    if ((await tell<string>(replica, "INFO", "replication")).includes("role:master")) return true;
    if (performance.now() - tried > 6_000) {
      tried = performance.now();
      await tell(replica, "CLUSTER", "FAILOVER");
    }
    return false;
  });
}

/** The master that has a slot, and another one. */
async function ownerAndOther(cluster: RedisClusterProcess, slot: number) {
  for (const [index, master] of cluster.masters.entries()) {
    const list = await tell<string>(master, "CLUSTER", "NODES");
    const own = list.split("\n").find((line) => line.includes("myself"))!;
    const ranges = own.split(" ").slice(8).map((range) => range.split("-").map(Number));
    if (ranges.some(([from, to = from]) => slot >= from! && slot <= to!)) {
      return [master, cluster.masters[(index + 1) % 3]!] as const;
    }
  }
  throw new Error(`No master has the slot ${slot}`);
}

/** A key for each master, by its port. */
async function keysByMaster(cluster: RedisClusterProcess, before: string, behind: string) {
  const keys = new Map<number, string>();
  for (let n = 0; keys.size < cluster.masters.length; n++) {
    const [owner] = await ownerAndOther(cluster, hashSlot(`${before}k${n}${behind}`));
    if (!keys.has(owner.port)) keys.set(owner.port, `k${n}`);
  }
  return keys;
}

/** Whether a call was admitted. One that lost every race was not, and has charged nothing. */
async function wasAdmitted(call: Promise<Decision>): Promise<boolean> {
  try {
    return (await call).allowed;
  } catch (error) {
    if (error instanceof ContentionError) return false;
    throw error;
  }
}
