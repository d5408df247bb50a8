import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as wait } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { gcra, limiter } from "../../mod.ts";
import { redisStore } from "../../stores/redis/redis_store.ts";
import { newClient } from "../support/redis/new_client.ts";
import { startRedis } from "../support/redis/redis_process.ts";
import type { Storm } from "./storm.ts";

/** Requests with a context of their own: how many are still in memory once they are over. */
export const pinnedContexts: Storm = {
  name: "pinned contexts",
  async run() {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const redis = await startRedis();
    const context = new AsyncLocalStorage<object>();
    const store = redisStore(newClient(redis.url));
    const api = limiter(gcra({ limit: 500, period: "1h", burst: 500 }), {
      store,
      prefix: "context",
    });
    const requests: WeakRef<object>[] = [];
    for (let index = 0; index < 20; index++) {
      await context.run(newRequest(requests), async () => void await api.consume("key"));
    }
    for (let round = 0; round < 10; round++) {
      collect();
      await wait(20);
    }
    const kept = requests.filter((request) => request.deref() !== undefined).length;
    await store.close();
    await redis.stop();
    return [{ on: "Redis", requests: requests.length, "in memory afterwards": kept }];
  },
};

function newRequest(requests: WeakRef<object>[]): object {
  const request = { id: requests.length };
  requests.push(new WeakRef(request));
  return request;
}
