/*
 * A cluster by ioredis: each node is dialled on its own, so none answers for another.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Cluster } from "ioredis";
import { Cluster as Cluster6 } from "ioredis6";

import { gcra, limiter } from "../../../../mod.ts";
import { redisStore, type RedisStoreOptions } from "../../../../stores/redis/redis_store.ts";
import { hashSlot } from "../../../../stores/redis/routing/hash_slot.ts";
import { type FakeCluster, withFakeCluster } from "../../../support/fake_redis/fake_cluster.ts";
import { PATIENT } from "../../../support/fake_redis/with_fake.ts";

const MODES = ["watch", "cas", "script"] as const;

const algorithm = gcra({ limit: 1, period: "1m", burst: 10 });

/** Keys on each node of a cluster of three. */
function keysByNode(prefix: string): readonly (readonly string[])[] {
  const keys: string[][] = [[], [], []];
  for (let n = 0; keys.some((some) => some.length < 5); n++) {
    const slot = hashSlot(`${prefix}:{k${n}}:${algorithm.id}`);
    keys[Math.floor(slot * 3 / 16_384)]!.push(`k${n}`);
  }
  return keys.map((some) => some.slice(0, 5));
}

async function withLimiter(
  { nodes }: FakeCluster,
  options: RedisStoreOptions,
  run: (api: ReturnType<typeof apiOn>) => Promise<void>,
  Client: typeof Cluster = Cluster,
): Promise<void> {
  const places = nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
  const store = redisStore(new Client(places, { lazyConnect: true }), { ...PATIENT, ...options });
  try {
    await run(apiOn(store));
  } finally {
    await store.close();
  }
}

function apiOn(store: ReturnType<typeof redisStore>) {
  return limiter(algorithm, { store, prefix: "api" });
}

describe("a cluster of ioredis", () => {
  for (const commit of MODES) {
    test(`loses only the calls of a node that is silent, by ${commit}`, () =>
      withFakeCluster(
        3,
        (cluster) =>
          withLimiter(cluster, { commit, deadline: 100, timeout: 5_000 }, async (api) => {
            const [dead, ...living] = keysByNode("api");
            await Promise.all([...dead!, ...living.flat()].map((key) => api.consume(key)));
            cluster.nodes[0]!.faults = () => "silence";
            const lost = dead!.map((key) => assert.rejects(api.consume(key)));
            for (let round = 0; round < 5; round++) {
              await Promise.all(living.flat().map((key) => api.consume(key)));
              await new Promise((resolve) => setTimeout(resolve, 50));
            }
            await Promise.all(lost);
          }),
      ));
  }

  test("of version 6 keeps its keys on all nodes", () =>
    withFakeCluster(3, (cluster) =>
      withLimiter(cluster, {}, async (api) => {
        const keys = keysByNode("api").flat();
        await Promise.all(keys.map((key) => api.consume(key)));
        const counts = cluster.nodes.map(({ keyspace }) => keyspace.keys().length);
        assert.deepEqual(counts, [5, 5, 5]);
      }, Cluster6 as unknown as typeof Cluster)));

  test("is dialled by the addresses that its natMap gives", () =>
    withFakeCluster(3, async (cluster) => {
      const natMap = Object.fromEntries(
        cluster.nodes.map(({ port }) => [`10.9.8.7:${port}`, { host: "127.0.0.1", port }]),
      );
      for (const { state } of cluster.nodes) {
        state.slots = (state.slots as [number, number, [string, number, string]][]).map(
          ([from, to, [, port, id]]) => [from, to, ["10.9.8.7", port, id]],
        );
      }
      const { port } = cluster.nodes[0]!;
      for (const root of [port, `redis://127.0.0.1:${port}`, { host: "127.0.0.1", port }]) {
        const client = new Cluster([root], { lazyConnect: true, natMap });
        const store = redisStore(client, PATIENT);
        const api = apiOn(store);
        for (const key of keysByNode("api").flat()) await api.consume(key);
        assert.equal(store.statistics().connections, 3);
        await store.close();
      }
    }));
});
