import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Socket } from "node:net";

import { type AsyncLimiter, gcra, limiter, slidingLog } from "../../../../mod.ts";
import {
  type RedisStore,
  redisStore,
  type RedisStoreOptions,
} from "../../../../stores/redis/redis_store.ts";
import { hashSlot, SLOTS } from "../../../../stores/redis/routing/hash_slot.ts";
import {
  addressOf,
  type FakeCluster,
  withFakeCluster,
} from "../../../support/fake_redis/fake_cluster.ts";
import type { FakeRedis } from "../../../support/fake_redis/fake_redis.ts";
import { newCluster } from "../../../support/redis/new_cluster.ts";
import { until, untilServed } from "../../../support/redis/redis_cluster.ts";
import { withListener } from "../../../support/redis/with_listener.ts";

const MODES = ["watch", "cas", "script"] as const;

/** So slow that nothing comes back within a test. */
const slow = gcra({ limit: 1, period: "1d", burst: 1_000 });

/** A key that lies in a slot of a third of the cluster: 0 to 2. */
function keyIn(third: number, prefix: string, { id }: { readonly id: string } = slow): string {
  for (let n = 0;; n++) {
    if (Math.floor(slotOf(`k${n}`, prefix, id) * 3 / SLOTS) === third) return `k${n}`;
  }
}

function slotOf(key: string, prefix: string, id: string = slow.id): number {
  return hashSlot(`${prefix}:{${key}}:${id}`);
}

/** Hangs: connections are taken, and nothing is answered. */
function hang(node: FakeRedis): void {
  node.faults = () => "silence";
}

/** A cluster of three, a limiter on it, and a key of that in each third of the slots. */
interface OnCluster extends FakeCluster {
  readonly store: RedisStore;
  readonly api: AsyncLimiter;
  readonly keys: readonly [string, string, string];
}

/** The slots of the first third. */
const FIRST_THIRD = [0, Math.floor(SLOTS / 3) - 1] as const;

function onCluster(
  options: RedisStoreOptions,
  test: (on: OnCluster) => Promise<void>,
): Promise<void> {
  return withFakeCluster(3, async (cluster) => {
    const store = cluster.storeOf(options);
    const api = limiter(slow, { store, prefix: "api" });
    await test({
      ...cluster,
      store,
      api,
      keys: [keyIn(0, "api"), keyIn(1, "api"), keyIn(2, "api")],
    });
  });
}

for (const commit of MODES) {
  describe(`a cluster, by ${commit}`, () => {
    test("a node that hangs is left once another one has its slots", () =>
      onCluster({ commit, deadline: 250 }, async ({ nodes, give, api, keys }) => {
        for (const key of keys) await api.consume(key);
        hang(nodes[0]!);
        await assert.rejects(async () => await api.consume(keys[0]));
        give(nodes[1]!, ...FIRST_THIRD);
        await untilServed(api, keys[0]);
        assert.equal((await api.consume(keys[1])).remaining, 998);
      }));

    test("a node that is cut off from the others is left once they have given its slots away", () =>
      onCluster({ commit }, async ({ nodes, give, api, keys: [key] }) => {
        await api.consume(key);
        const { slots } = nodes[0]!.state;
        nodes[0]!.faults = ([name]) =>
          name === "MGET" || name === "EVALSHA"
            ? new Error("CLUSTERDOWN The cluster is down")
            : undefined;
        await assert.rejects(async () => await api.consume(key), /CLUSTERDOWN/);
        give(nodes[1]!, ...FIRST_THIRD);
        nodes[0]!.state.slots = slots;
        await untilServed(api, key);
        assert.ok(nodes[1]!.commands.length > 0);
      }));

    test("calls on other slots are served by stores that start while a node is away", () =>
      withFakeCluster(3, async ({ nodes, storeOf }) => {
        hang(nodes[0]!);
        await nodes[1]!.stop();
        for (let stores = 0; stores < 6; stores++) {
          const api = limiter(slow, { store: storeOf({ commit }), prefix: "api" });
          assert.equal((await api.consume(keyIn(2, "api"))).allowed, true);
          await assert.rejects(async () => await api.consume(keyIn(1, "api")), /ECONNREFUSED/);
        }
      }));

    test("each node's limits go by its own clock", () =>
      withFakeCluster(3, async ({ nodes, storeOf }) => {
        const log = slidingLog({ limit: 10, period: "1m" });
        const api = limiter(log, { store: storeOf({ commit }), prefix: "api" });
        const [slowKey, fastKey] = [keyIn(0, "api", log), keyIn(1, "api", log)];
        Object.assign(nodes[1]!.state, { now: () => Date.now() + 120_000 });
        let admitted = 0;
        for (let calls = 0; calls < 40; calls++) {
          if (calls % 4 === 0) await api.consume(fastKey);
          if ((await api.consume(slowKey)).allowed) admitted++;
        }
        assert.equal(admitted, 10);
      }));

    test("a slot that is moved to a node that joined later is followed there", () =>
      withFakeCluster(4, async ({ nodes, give, storeOf }) => {
        const [from, , , to] = nodes as [FakeRedis, FakeRedis, FakeRedis, FakeRedis];
        give(nodes[2]!, 0, SLOTS - 1);
        give(from, 0, 5_000);
        const api = limiter(slow, { store: storeOf({ commit }), prefix: "api" });
        const key = keyIn(0, "api");
        const slot = slotOf(key, "api");
        await api.consume(key);

        const elsewhere = to.state.elsewhere;
        to.state.elsewhere = () => undefined;
        from.faults = ([name]) =>
          name === "MGET" || name === "EVALSHA"
            ? new Error(`ASK ${slot} ${addressOf(to)}`)
            : undefined;
        assert.equal((await api.consume(key)).remaining, 999, "nodes of a fake share no keys");
        assert.ok(to.commands.some(([name]) => name === "ASKING"));

        to.state.elsewhere = elsewhere;
        from.faults = () => undefined;
        give(to, slot, slot);
        const sent = to.commands.length;
        assert.equal((await api.consume(key)).remaining, 998);
        assert.ok(to.commands.slice(sent).every(([name]) => name !== "ASKING"));
      }));

    test("two limits of a key whose slot is in two places are decided one by one", () =>
      onCluster({ commit }, async ({ nodes, store, api, keys: [key] }) => {
        const apis = [
          api,
          limiter(gcra({ limit: 2, period: "1d", burst: 2 }), { store, prefix: "api" }),
        ];
        await api.consume(key);
        nodes[0]!.faults = ([name, ...args]) => {
          const keys = name === "MGET" ? args.length : name === "EVALSHA" ? Number(args[1]) : 1;
          return keys > 1
            ? new Error("TRYAGAIN Multiple keys request during rehashing")
            : undefined;
        };
        const decisions = await Promise.all(apis.map((api) => api.consume(key)));
        assert.deepEqual(decisions.map(({ remaining }) => remaining), [998, 1]);
      }));

    test("calls on all slots of a node are followed at once to the one that took over", () =>
      onCluster({ commit }, async ({ nodes, give, api, store }) => {
        const keys = Array.from({ length: 300 }, (_, n) => `k${n}`);
        await Promise.all(keys.map((key) => api.consume(key)));
        give(nodes[1]!, ...FIRST_THIRD);
        await Promise.all(keys.map((key) => api.consume(key)));
        assert.equal(store.statistics().unavailable, 0);
      }));

    test("a node without slots has no connection any more", () =>
      onCluster({ commit }, async ({ nodes, give, api, keys }) => {
        for (const key of keys) await api.consume(key);
        assert.equal(nodes[0]!.connections(), 1);
        give(nodes[1]!, ...FIRST_THIRD);
        await until(async () => {
          await api.consume(keys[0]);
          await new Promise((resolve) => setTimeout(resolve, 10));
          return nodes[0]!.connections() === 0;
        });
      }));

    test("its password and its addresses are those that the client was given", () =>
      withFakeCluster(3, async (cluster) => {
        const { nodes } = cluster;
        for (const { state } of nodes) {
          state.password = "secret";
          // As behind a router: nobody can reach them there.
          state.slots = JSON.parse(
            JSON.stringify(state.slots).replaceAll("127.0.0.1", "gone.test"),
          );
        }
        const options = {
          defaults: { password: "secret" },
          nodeAddressMap: (address: string) => ({
            host: "127.0.0.1",
            port: Number(address.split(":")[1]),
          }),
        };
        const api = limiter(slow, { store: cluster.storeOf({ commit }, options), prefix: "api" });
        for (const third of [0, 1, 2]) {
          assert.equal((await api.consume(keyIn(third, "api"))).allowed, true);
        }
        const rootNodes = nodes.map(({ port }) => ({ url: `redis://:secret@127.0.0.1:${port}` }));
        const ownRoots = { ...options, rootNodes };
        const other = limiter(slow, {
          store: cluster.storeOf({ commit }, ownRoots),
          prefix: "api",
        });
        assert.equal((await other.consume(keyIn(0, "api"))).remaining, 998);
      }));

    test("closed in the middle of a request for slots, it leaves nothing behind", () =>
      withFakeCluster(3, async ({ nodes, storeOf }) => {
        for (const wait of [0, 1, 2, 3, 5, 8]) {
          const store = storeOf({ commit });
          const call = limiter(slow, { store, prefix: "api" }).consume("a");
          const end = Promise.resolve(call).then(() => {}, () => {});
          await new Promise((resolve) => setTimeout(resolve, wait));
          await store.close();
          await end;
        }
        await until(() => Promise.resolve(nodes.every((node) => node.connections() === 0)));
      }));
  });
}

test("guesses about a node's values do not come from another node", () =>
  onCluster({ commit: "cas" }, async ({ nodes, give, api, store, keys: [key] }) => {
    await api.consume(key);
    give(nodes[1]!, ...FIRST_THIRD);
    assert.equal((await api.consume(key)).remaining, 999, "nodes of a fake share no keys");
    assert.equal(store.statistics().conflicts, 0);
  }));

describe("a cluster without a node that answers", () => {
  test("is dialled from time to time, and not by every call", async () => {
    let dials = 0;
    const hangUp = (socket: Socket) => {
      dials++;
      socket.destroy();
    };
    await withListener(async ({ url }) => {
      const store = redisStore(newCluster({ rootNodes: [{ url }] }), { onUnavailable: "deny" });
      const api = limiter(slow, { store, prefix: "api" });
      let latest = 0;
      const start = performance.now();
      for (let n = 0; dials < 4; n++) {
        const { source, retryAfter } = await api.consume(`k${n % 50}`);
        assert.equal(source, "policy");
        latest = Math.max(latest, retryAfter);
        await new Promise((resolve) => setTimeout(resolve));
      }
      // Between two dials there are 12 ms or more, then twice as many, and so on.
      const took = performance.now() - start;
      assert.ok(took > 12 + 25 + 50, `4 dials in ${took} ms`);
      assert.ok(latest > 10, `the next probe is at most ${latest} ms away`);
      await store.close();
    }, hangUp);
  });

  test("keeps no more calls waiting than may wait, whatever their slots are", () =>
    withListener(async ({ url }) => {
      const store = redisStore(newCluster({ rootNodes: [{ url }] }), { maxPending: 100 });
      const api = limiter(slow, { store, prefix: "api" });
      let refused = 0;
      const calls = Array.from(
        { length: 1_000 },
        (_, n) =>
          Promise.resolve(api.consume(`k${n}`)).catch((error) => {
            assert.match(error.message, /calls may wait|closed/);
            refused++;
          }),
      );
      await until(() => Promise.resolve(refused === 900));
      await store.close();
      await Promise.all(calls);
    }));

  test("holds no connection after close", () =>
    withListener(async ({ url, sockets }) => {
      const store = redisStore(newCluster({ rootNodes: [{ url }] }));
      const call = limiter(slow, { store, prefix: "api" }).consume("a");
      const end = assert.rejects(async () => await call);
      await until(() => Promise.resolve(sockets.size > 0));
      await store.close();
      await end;
      await until(() => Promise.resolve(sockets.size === 0));
    }));
});

test("calls that only look are answered by a node that takes no writes, however many slots fail", () =>
  withFakeCluster(1, async ({ nodes, storeOf }) => {
    const store = storeOf({ commit: "cas", deadline: 30_000, timeout: 30_000 });
    const api = limiter(slow, { store, prefix: "a" });
    await api.consume("warm");
    nodes[0]!.faults = ([name, , keys, ...rest]) => {
      if (name !== "EVALSHA") return undefined;
      // After the keys and five more words: three for each key, the guess and the new value first.
      const cells = rest.slice(Number(keys) + 5);
      const writes = Array.from({ length: Number(keys) }).some((_, index) =>
        cells[3 * index] !== cells[3 * index + 1]
      );
      return writes
        ? new Error("OOM command not allowed when used memory > 'maxmemory'.")
        : undefined;
    };
    const keys = Array.from({ length: 900 }, (_, index) => `k${index}`);
    const calls = keys.flatMap((key) => [api.consume(key), api.peek(key)]);
    const results = await Promise.allSettled(calls);
    const failed = results.map(({ status }) => status === "rejected");
    assert.equal(failed.filter((isFailed, index) => isFailed && index % 2 === 1).length, 0);
    assert.equal(failed.filter((isFailed, index) => isFailed && index % 2 === 0).length, 900);
  }));
