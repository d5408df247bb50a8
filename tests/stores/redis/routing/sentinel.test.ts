import assert from "node:assert/strict";
import { describe, test } from "node:test";
import process from "node:process";
import { createSentinel } from "redis";
import * as redis5 from "redis5";

import { gcra, limiter, StoreUnavailableError } from "../../../../mod.ts";
import { redisStore } from "../../../../stores/redis/redis_store.ts";
import { tell, until, untilServed } from "../../../support/redis/redis_cluster.ts";
import { needs } from "../../../support/program.ts";
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

  test(
    "is passed over for the next one",
    needs("redis-server"),
    () =>
      withListener(async ({ port }) => {
        const servers = await startSentinel();
        const store = redisStore(createSentinel({
          name: "main",
          sentinelRootNodes: [{ host: "127.0.0.1", port }, {
            host: "127.0.0.1",
            port: servers.port,
          }],
        }));
        try {
          const api = limiter(algorithm, { store, prefix: "one" });
          await untilServed(api, "a");
          servers.master.signal("SIGSTOP");
          await untilServed(api, "a");
        } finally {
          await store.close();
          servers.master.signal("SIGCONT");
          await servers.stop();
        }
      }),
  );
});

describe("a master with a sentinel", needs("redis-server"), () => {
  test("is found, and its replica once that has taken over", async () => {
    const servers = await startSentinel();
    const sentinelRootNodes = [{ host: "127.0.0.1", port: servers.port }];
    const older = redis5.createSentinel({ name: "main", sentinelRootNodes });
    older.on("error", () => {});
    await older.connect();
    const options = { deadline: 250, connectDeadline: 2_000 };
    const client = createSentinel({ name: "main", sentinelRootNodes });
    const stores = [
      redisStore(client, { ...options, commit: "watch" }),
      redisStore(client, { ...options, commit: "script" }),
      redisStore(older, { ...options, commit: "cas" }),
    ];
    try {
      const limiters = stores.map((store) => limiter(algorithm, { store, prefix: "one" }));
      for (let calls = 0; calls < 10; calls++) {
        for (const api of limiters) assert.equal((await api.consume("a")).source, undefined);
      }
      assert.equal((await limiters[0]!.peek("a", 0)).remaining, 470);
      const stored = `one:{a}:${algorithm.id}`;
      await until(async () => {
        const ends = [servers.master, servers.replica];
        const [held, known] = await Promise.all(
          ends.map((server) => tell<string | null>(server, "GET", stored)),
        );
        return held === known;
      });

      await servers.master.kill();
      await until(async () =>
        (await tell<string>(servers.replica, "INFO", "replication").catch(() => ""))
          .includes("role:master")
      );
      const start = performance.now();
      for (const api of limiters) {
        await untilServed(api, "a");
      }
      if (process.env.TIDEGATE_CHAOS !== undefined) {
        console.log(`back ${performance.now() - start} ms after the replica took over`);
      }
      const { remaining } = await limiters[0]!.peek("a", 0);
      assert.ok(remaining <= 467 && remaining > 390, `${remaining} are left to the replica`);
    } finally {
      await Promise.all(stores.map((store) => store.close()));
      older.destroy();
      await servers.stop();
    }
  });
});
