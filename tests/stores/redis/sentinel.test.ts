import assert from "node:assert/strict";
import { describe, test } from "node:test";
import process from "node:process";
import { createSentinel } from "redis";

import { gcra, limiter } from "../../../mod.ts";
import { redisStore } from "../../../stores/redis.ts";
import { tell, until } from "../../support/redis/redis_cluster.ts";
import { WITHOUT_REDIS } from "../../support/redis/redis_process.ts";
import { startSentinel } from "../../support/redis/redis_sentinel.ts";

describe("a master with a sentinel", { skip: WITHOUT_REDIS }, () => {
  test("is found, and its replica once that has taken over", async () => {
    const servers = await startSentinel();
    const stores = (["watch", "cas"] as const).map((commit) =>
      redisStore(
        createSentinel({
          name: "main",
          sentinelRootNodes: [{ host: "127.0.0.1", port: servers.port }],
        }),
        { commit, deadline: 250, connectDeadline: 2_000 },
      )
    );
    try {
      const algorithm = gcra({ limit: 1, period: "1d", burst: 500 });
      const limiters = stores.map((store) => limiter(algorithm, { store, prefix: "one" }));
      for (let calls = 0; calls < 10; calls++) {
        for (const api of limiters) assert.equal((await api.consume("a")).source, undefined);
      }
      assert.equal((await limiters[0]!.peek("a", 0)).remaining, 480);
      await new Promise((resolve) => setTimeout(resolve, 100));

      await servers.master.kill();
      await until(async () =>
        (await tell<string>(servers.replica, "INFO", "replication").catch(() => ""))
          .includes("role:master")
      );
      const start = performance.now();
      for (const api of limiters) {
        await until(() => api.consume("a").then(() => true, () => false));
      }
      if (process.env.TIDEGATE_CHAOS !== undefined) {
        console.log(`back ${performance.now() - start} ms after the replica took over`);
      }
      const { remaining } = await limiters[0]!.peek("a", 0);
      assert.ok(remaining <= 478 && remaining > 400, "what was used is known to the replica");
    } finally {
      await Promise.all(stores.map((store) => store.close()));
      await servers.stop();
    }
  });
});
