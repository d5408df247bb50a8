import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { test } from "node:test";

import { gcra, limiter } from "../../../../mod.ts";
import { redisStore } from "../../../../stores/redis/redis_store.ts";

test("nothing that a store does for several calls keeps a caller's context", async () => {
  const context = new AsyncLocalStorage<string>();
  const seen: unknown[] = [];
  const see = () => void seen.push(context.getStore());
  let fails = false;
  const store = redisStore({
    send(commands: readonly (readonly string[])[]) {
      see();
      if (fails) return Promise.reject(new Error("away"));
      const time = [String(Math.floor(Date.now() / 1_000)), "0"];
      return Promise.resolve(commands.map(([name, , keys]) => {
        if (name === "INFO") return "redis_version:7.0.15";
        return keys === "0" ? time : [...time, ""];
      }));
    },
  }, { onOutage: see });
  const api = limiter(gcra({ limit: 10, period: "1m", burst: 10 }), { store, prefix: "api" });
  await context.run("first", async () => {
    await api.consume("key");
    assert.equal(context.getStore(), "first");
  });
  fails = true;
  await context.run("second", () => assert.rejects(async () => await api.consume("key")));
  await store.close();
  assert.ok(seen.length >= 4);
  assert.deepEqual(new Set(seen), new Set([undefined]));
});
