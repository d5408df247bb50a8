import assert from "node:assert/strict";
import { describe, test } from "node:test";

import {
  balance,
  consumeAll,
  consumeUpTo,
  gcra,
  type Limiter,
  limiter,
  memoryStore,
  reservable,
  reserve,
  type Store,
} from "../../mod.ts";
import { denyCache, fallback, lease } from "../../stores/layered/layered.ts";
import { compareAndSetStore } from "../../stores/optimistic/compare_and_set.ts";
import { redisStore } from "../../stores/redis/redis_store.ts";
import { sharedStore } from "../../stores/shared/shared_store.ts";
import { sqliteStore } from "../../stores/sqlite/sqlite_store.ts";
import { mapDriver } from "../support/drivers/map_driver.ts";
import { newClient } from "../support/redis/new_client.ts";

const STORES: Readonly<Record<string, () => Store>> = {
  memoryStore: () => memoryStore(),
  sharedStore: () => sharedStore({ capacity: 64 }),
  sqliteStore: () => sqliteStore(":memory:"),
  "a store on a driver": () => compareAndSetStore(mapDriver()),
  redisStore: () => redisStore(newClient("redis://127.0.0.1:1")), // nobody is there
  denyCache: () => denyCache(memoryStore()),
  lease: () => lease(memoryStore(), { units: 4, ttl: "1m" }),
  fallback: () => fallback(memoryStore(), memoryStore(), { share: 0.5 }),
};

const rate = gcra({ limit: 100, period: "1h", burst: 100 });

type Call = (api: Limiter, key: string) => unknown;

const CALLS: Readonly<Record<string, Call>> = {
  consume: (api, key) => api.consume(key),
  peek: (api, key) => api.peek(key),
  refund: (api, key) => api.refund(key),
  charge: (api, key) => api.charge(key),
  reset: (api, key) => api.reset(key),
  consumeAll: (api, key) => consumeAll([{ limiter: api, key: "a" }, { limiter: api, key }]),
  consumeUpTo: (api, key) => consumeUpTo(api, key, 2),
  balance: (api, key) => balance(api, key),
};

describe("half a character is no key, on no store and by no call:", () => {
  for (const [name, make] of Object.entries(STORES)) {
    test(name, async () => {
      await using store = make();
      const on = { store, prefix: "api" } as never;
      const [api, held] = [limiter(rate, on), limiter(reservable(rate), on)] as Limiter[];
      const calls: (readonly [string, () => unknown])[] = ["\ud800", "a\udc00b"].flatMap((key) => [
        ...Object.entries(CALLS).map(([call, make]) => [call, () => make(api!, key)] as const),
        ["reserve", () => reserve(held!, key)] as const,
      ]);
      for (const [call, make] of calls) {
        const rule = /^TypeError: Cannot store a key as it must be well-formed UTF-16: .*\\ud/;
        await assert.rejects(async () => await make(), rule, call);
      }
      if (name === "redisStore") return;
      assert.equal((await api!.consume("\u{1f600}")).remaining, 99);
      assert.equal((await api!.peek("a", 0)).remaining, 100);
    });
  }
});
