/*
 * Clients of other packages and versions. `redis4`, `redis50`, `redis5` and `redis60` are what the
 * package `redis` of those versions is made of: `@redis/client`.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { Cluster as IoCluster, Redis as IoRedis } from "ioredis";
import { Redis as IoRedis6 } from "ioredis6";
import { Redis as IoValkey } from "iovalkey";
import * as redis6 from "redis";
import * as redis4 from "redis4";
import * as redis5 from "redis5";
import * as redis50 from "redis50";
import * as redis60 from "redis60";

import { gcra, limiter, StoreUnavailableError } from "../../../../mod.ts";
import { type RedisRulesClient, redisSource } from "../../../../adapters/rules/rules.ts";
import { type RedisClient, redisStore } from "../../../../stores/redis/redis_store.ts";
import { tell, until } from "../../../support/redis/redis_cluster.ts";
import { needs } from "../../../support/program.ts";
import { type RedisProcess, startRedis } from "../../../support/redis/redis_process.ts";
import { withRedis } from "../../../support/redis/with_redis.ts";
import { drawn } from "../../../support/seed.ts";

const redisServer = needs("redis-server");

/** So slow that nothing comes back within a test. */
const algorithm = gcra({ limit: 1, period: "1d", burst: 10 });

const nowhere = { host: "127.0.0.1", port: 1 };
const rootNodes = [{ socket: nowhere }];
const sentinel = { name: "main", sentinelRootNodes: [nowhere] };

/** Bun's client; on other runtimes an object with the same methods. */
function bunClient(): object {
  const { Bun } = globalThis as { Bun?: { RedisClient: new (url: string) => object } };
  if (Bun !== undefined) return new Bun.RedisClient("redis://127.0.0.1:1");
  return { connect() {}, send() {}, duplicate() {}, close() {}, onclose: null };
}

describe("a client that cannot be used is refused by name:", () => {
  const REFUSED: readonly [given: string, byStore: boolean, make: () => unknown][] = [
    ["a client of ioredis or iovalkey", false, () => new IoRedis({ lazyConnect: true })],
    ["a client of ioredis or iovalkey", false, () => new IoValkey({ lazyConnect: true })],
    ["a RedisClient of Bun", false, bunClient],
    ["a client of node-redis 4 or older", false, () => redis4.createClient()],
    ["a client of node-redis 4 or older", false, () => redis4.createCluster({ rootNodes })],
    ["a cluster client of node-redis 5.0", false, () => redis50.createCluster({ rootNodes })],
    ["a sentinel client of node-redis 5", false, () => redis5.createSentinel(sentinel)],
    ["an object", true, () => ({ sendCommand() {} })],
    ["undefined", true, () => undefined],
  ];

  for (const [index, [given, byStore, make]] of REFUSED.entries()) {
    test(`${given} (${index + 1})`, () => {
      const client = make() as RedisClient & RedisRulesClient;
      if (byStore) {
        assert.throws(() => redisStore(client), {
          name: "TypeError",
          message: "Cannot create redisStore as the client must come from node-redis 4 or later, " +
            "from ioredis 5 or iovalkey, be a RedisClient of Bun, or have a function send: " +
            `current value is ${given}`,
        });
      }
      assert.throws(() => redisSource(client), {
        name: "TypeError",
        message: "Cannot create redisSource as the client must come from node-redis 5.1 or later " +
          `(run npm install redis@6, and pass what createClient returns): current value is ${given}`,
      });
    });
  }

  test("a sender, by watch", () => {
    assert.throws(() => redisStore({ send: () => Promise.resolve([]) }, { commit: "watch" }), {
      name: "TypeError",
      message: 'Cannot create redisStore as commit must be "script", "cas" or "auto" with a ' +
        'client that cannot watch keys: current value is "watch"',
    });
  });
});

/** Bun's client; `undefined` on other runtimes. */
const BunClient = (globalThis as { Bun?: { RedisClient: new (url: string) => RedisClient } }).Bun
  ?.RedisClient;

type Made = readonly [name: string, make: (redis: RedisProcess) => Promise<Given>];

/** The clients that can be used, of the oldest and the newest version of each. */
const CLIENTS: readonly Made[] = [
  ["redis 6", ({ url }) => single(redis6.createClient({ url }))],
  ["redis 6.0", ({ url }) => single(redis60.createClient({ url }))],
  ["redis 5", ({ url }) => single(redis5.createClient({ url }))],
  ["@redis/client 1", ({ url }) => single(redis4.createClient({ url }) as unknown as RedisClient)],
  ["ioredis 5", ({ url }) => single(new IoRedis(url, { lazyConnect: true }))],
  ["ioredis 6", ({ url }) => single(new IoRedis6(url, { lazyConnect: true }))],
  ["iovalkey", ({ url }) => single(new IoValkey(url, { lazyConnect: true }))],
  ...("Bun" in globalThis
    ? [["Bun", ({ url }) => single(new BunClient!(url))] as const satisfies Made]
    : []),
  ["a pool of redis 6.0", ({ url }) => pooled(redis60.createClientPool({ url }))],
  ["a pool of redis 5.0", ({ url }) => pooled(redis50.createClientPool({ url }))],
];

/** A client that was made for a test. */
interface Given {
  readonly client: RedisClient;
  readonly end: () => void;
}

function single(client: RedisClient): Promise<Given> {
  return Promise.resolve({ client, end() {} });
}

async function pooled(
  pool: RedisClient & {
    on(event: "error", listener: () => void): unknown;
    connect(): Promise<unknown>;
    destroy(): void;
  },
): Promise<Given> {
  pool.on("error", () => {});
  await pool.connect();
  return { client: pool, end: () => pool.destroy() };
}

/** So much that nothing is refused, so slow that nothing comes back. */
const endless = gcra({ limit: 1, period: "1d", burst: 1_000_000 });

withRedis("lost connections", (redis, { storeOf }) => {
  for (const [name, make] of drawn(CLIENTS, 3)) {
    test(`of ${name} are dialled again, by transactions and scripts`, async () => {
      for (const commit of ["watch", "script"] as const) {
        const { client, end } = await make(redis());
        const store = storeOf({ commit }, client);
        const api = limiter(algorithm, { store, prefix: `${name} ${commit}` });
        for (let left = 9; left > 5; left--) {
          assert.equal((await api.consume("a")).remaining, left);
          await tell(redis(), "CLIENT", "KILL", "TYPE", "normal");
          // Try until the client has noticed. Calls that it sent before may have been charged.
          await new Promise((resolve) => setTimeout(resolve, 30));
        }
        // Busy: whatever was charged was admitted, or said to be unknown; and nothing twice.
        const busy = limiter(endless, { store, prefix: `${name} ${commit} busy` });
        let admitted = 0;
        let unknown = 0;
        let isOver = false;
        const callers = Array.from({ length: 8 }, async () => {
          while (!isOver) {
            try {
              await busy.consume("a");
              admitted++;
            } catch (error) {
              assert.ok(error instanceof StoreUnavailableError, String(error));
              if (error.applied === "unknown") unknown++;
              await new Promise((resolve) => setTimeout(resolve, 1));
            }
          }
        });
        for (let kills = 0; kills < 4; kills++) {
          const before = admitted;
          await until(() => Promise.resolve(admitted > before));
          await tell(redis(), "CLIENT", "KILL", "TYPE", "normal");
        }
        isOver = true;
        await Promise.all(callers);
        let used = -1;
        await until(() =>
          Promise.resolve(busy.peek("a", 0)).then(({ remaining }) => {
            used = endless.capacity - remaining;
            return true;
          }, () => false)
        );
        assert.ok(admitted > 0);
        assert.ok(
          used >= admitted && used <= admitted + unknown,
          `${used} charged, ${admitted} admitted, ${unknown} unknown`,
        );
        await redis().kill();
        await assert.rejects(async () => await api.consume("a"), StoreUnavailableError);
        await redis().restart();
        await until(() => api.consume("a").then(() => true, () => false));
        await store.close();
        end();
      }
    });
  }
});

describe("lost connections of a cluster", redisServer, () => {
  let node: RedisProcess;
  before(async () => {
    if (redisServer.skip) return;
    // ioredis leaves out nodes for which the cluster gives no address.
    node = await startRedis(["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1"]);
    await tell(node, "CLUSTER", "ADDSLOTSRANGE", "0", "16383");
    const info = () => tell<string>(node, "CLUSTER", "INFO");
    await until(async () => (await info()).includes("cluster_state:ok"));
  });
  after(async () => {
    await node?.stop();
  });

  const CLUSTERS: readonly [name: string, make: (url: string) => RedisClient][] = [
    ["redis 6.0", (url) => redis60.createCluster({ rootNodes: [{ url }] })],
    ["redis 5", (url) => redis5.createCluster({ rootNodes: [{ url }] })],
    ["redis 5.0", (url) => redis50.createCluster({ rootNodes: [{ url }] })],
    [
      "@redis/client 1",
      (url) => redis4.createCluster({ rootNodes: [{ url }] }) as unknown as RedisClient,
    ],
  ];

  test("of ioredis are dialled again, by script", async () => {
    const { port } = new URL(node.url);
    const given = new IoCluster([{ host: "127.0.0.1", port: Number(port) }], { lazyConnect: true });
    const store = redisStore(given, { commit: "script", deadline: 5_000, timeout: 30_000 });
    const api = limiter(algorithm, { store, prefix: "ioredis" });
    for (const key of ["a", "b", "c"]) assert.equal((await api.consume(key)).remaining, 9);
    await tell(node, "CLIENT", "KILL", "TYPE", "normal");
    await until(() => api.consume("a").then(() => true, () => false));
    await api.resetPrefix();
    assert.equal((await api.peek("b", 0)).remaining, 10);
    await store.close();
  });

  for (const [name, make] of drawn(CLUSTERS, 2)) {
    test(`of ${name} are dialled again`, async () => {
      const store = redisStore(make(node.url), {
        commit: "watch",
        deadline: 5_000,
        timeout: 30_000,
      });
      const api = limiter(algorithm, { store, prefix: name });
      for (let left = 9; left > 5; left--) {
        assert.equal((await api.consume("a")).remaining, left);
        await tell(node, "CLIENT", "KILL", "TYPE", "normal");
      }
      await store.close();
    });
  }
});
