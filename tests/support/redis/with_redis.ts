import { after, afterEach, before, describe } from "node:test";
import type { RedisClientType } from "redis";

import {
  type RedisClient,
  type RedisStore,
  redisStore,
  type RedisStoreOptions,
} from "../../../stores/redis/redis_store.ts";
import { needs } from "../program.ts";
import { type RedisProcess, startRedis } from "./redis_process.ts";
import { newClient } from "./new_client.ts";

/** Stores and clients that tests open on a server. Each test's are closed after it. */
export interface Opened {
  /** A store with limits that a slow machine does not reach, unless the options say otherwise. */
  storeOf(options?: RedisStoreOptions, client?: RedisClient): RedisStore;
  /** A client, connected. */
  clientOf(): Promise<RedisClientType>;
}

/** Tests that share one redis-server. */
export function withRedis(
  name: string,
  tests: (redis: () => RedisProcess, opened: Opened) => void,
): void {
  const { skip } = needs("redis-server");
  describe(name, { skip }, () => {
    let redis: RedisProcess | undefined;
    let open: { close(): Promise<unknown> }[] = [];
    before(async () => {
      if (!skip) redis = await startRedis();
    });
    afterEach(async () => {
      await Promise.all(open.map((one) => one.close()));
      open = [];
    });
    after(async () => {
      await redis?.stop();
    });
    tests(() => redis!, {
      storeOf(options, client = newClient(redis!.url)) {
        const store = redisStore(client, {
          deadline: 5_000,
          timeout: 30_000,
          onOutage() {},
          ...options,
        });
        open.push(store);
        return store;
      },
      async clientOf() {
        const client = await newClient(redis!.url).connect();
        open.push(client);
        return client;
      },
    });
  });
}
