import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createSentinel } from "redis";
import * as redis5 from "redis5";

import { concurrency, gcra, hold, limiter, StoreUnavailableError } from "../../../../mod.ts";
import { type RedisStore, redisStore } from "../../../../stores/redis/redis_store.ts";
import { tell, until, untilServed } from "../../../support/redis/redis_cluster.ts";
import { needs } from "../../../support/program.ts";
import { drawn } from "../../../support/seed.ts";
import { withListener } from "../../../support/redis/with_listener.ts";
import { startSentinel } from "../../../support/redis/redis_sentinel.ts";

/** So slow that nothing comes back within a test. */
const algorithm = gcra({ limit: 1, period: "1d", burst: 500 });

describe("a sentinel that is silent", () => {
  test("is queried with the client's options, and is left in peace after close", () =>
    withListener(async ({ port, sockets, received }) => {
      const store = redisStore(createSentinel({
        name: "main",
        sentinelRootNodes: [{ host: "127.0.0.1", port }],
        sentinelClientOptions: { password: "secret" },
      }));
      const call = limiter(algorithm, { store, prefix: "one" }).consume("a");
      const end = assert.rejects(async () => await call, StoreUnavailableError);
      await until(() => Promise.resolve(received().includes("secret")));
      await store.close();
      await end;
      await until(() => Promise.resolve(sockets.size === 0));
    }));
});

/** How a master goes away: its connections end, or they say no more. */
const ENDINGS = ["SIGKILL", "SIGSTOP"] as const;

/** Stores of each commit; the last one's first sentinel is silent, and is passed over. */
async function storesOf(port: number, silent: number) {
  const sentinelRootNodes = [{ host: "127.0.0.1", port }];
  const older = redis5.createSentinel({ name: "main", sentinelRootNodes });
  older.on("error", () => {});
  await older.connect();
  const client = createSentinel({ name: "main", sentinelRootNodes });
  const passing = createSentinel({
    name: "main",
    sentinelRootNodes: [{ host: "127.0.0.1", port: silent }, ...sentinelRootNodes],
  });
  const options = { deadline: 1_000, connectDeadline: 5_000, timeout: 30_000 };
  const stores = [
    redisStore(client, { ...options, commit: "watch" }),
    redisStore(client, { ...options, commit: "script" }),
    redisStore(older, { ...options, commit: "cas" }),
    redisStore(passing),
  ];
  return {
    stores,
    async close() {
      await Promise.all(stores.map((store) => store.close()));
      older.destroy();
    },
  };
}

/** Longer than it takes a replica to take over. */
const TTL = 60_000;

/** Holds two permits, one of which is released while there is no master. */
async function holdTwo(store: RedisStore) {
  const options = { store, prefix: "jobs" };
  const algorithm = concurrency({ limit: 2, ttl: TTL });
  const jobs = limiter(algorithm, options);
  const later = limiter(algorithm, { ...options, clock: () => Date.now() + TTL });
  const kept = await hold(jobs, "key");
  const dropped = await hold(jobs, "key");
  assert.equal((await hold(jobs, "key")).permit, undefined);
  return {
    drop: () => dropped.permit!.release(),
    /** Checks that the replica knows both of them, and that a release that was lost is made again. */
    async check(): Promise<void> {
      await until(async () => (await jobs.peek("key", 0)).remaining === 1);
      assert.equal(await kept.permit!.release(), true);
      assert.equal((await later.peek("key", 0)).remaining, 2);
    },
  };
}

async function outlive(ending: (typeof ENDINGS)[number], silent: number) {
  const servers = await startSentinel();
  const { stores, close } = await storesOf(servers.port, silent);
  try {
    const limiters = stores.map((store) => limiter(algorithm, { store, prefix: "one" }));
    const passing = limiters.pop()!;
    const permits = await holdTwo(stores[0]!);
    for (let calls = 0; calls < 10; calls++) {
      for (const api of limiters) assert.equal((await api.consume("a")).source, undefined);
    }
    assert.equal((await limiters[0]!.peek("a", 0)).remaining, 470);
    await untilServed(passing, "b");
    const stored = `one:{a}:${algorithm.id}`;
    await until(async () => {
      const ends = [servers.master, servers.replica];
      const [held, known] = await Promise.all(
        ends.map((server) => tell<string | null>(server, "GET", stored)),
      );
      return held === known;
    });

    if (ending === "SIGKILL") await servers.master.kill();
    else servers.master.signal(ending);
    const dropped = permits.drop();
    await until(async () =>
      (await tell<string>(servers.replica, "INFO", "replication").catch(() => ""))
        .includes("role:master")
    );
    for (const api of limiters) await untilServed(api, "a");
    await untilServed(passing, "b");
    await dropped;
    await permits.check();
    const { remaining } = await limiters[0]!.peek("a", 0);
    assert.ok(remaining <= 467 && remaining > 390, `${remaining} are left to the replica`);
  } finally {
    await close();
    await servers.stop();
  }
}

describe("a master with a sentinel", needs("redis-server"), () => {
  test("is found, past a silent sentinel too, and its replica once that has taken over", () =>
    withListener(async ({ port }) => {
      for (const ending of drawn(ENDINGS)) await outlive(ending, port);
    }));
});
