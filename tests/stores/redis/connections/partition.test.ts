/*
 * A way to the server that loses everything without a word, and later lets new connections through:
 * what was sent meanwhile is lost for good.
 */
import assert from "node:assert/strict";
import { test } from "node:test";

import { gcra, limiter } from "../../../../mod.ts";
import { redisStore } from "../../../../stores/redis/redis_store.ts";
import { startFakeRedis } from "../../../support/fake_redis/fake_redis.ts";
import { startDelayingProxy } from "../../../support/redis/delaying_proxy.ts";
import { newClient } from "../../../support/redis/new_client.ts";

test("a silent partition that heals is noticed, however long an attempt to connect may take", async () => {
  const fake = await startFakeRedis();
  const proxy = await startDelayingProxy(fake.port, 0);
  // An attempt that was begun before would hold up everybody for a minute.
  const options = { deadline: 50, timeout: 100, connectDeadline: 60_000 };
  const store = redisStore(newClient(proxy.url), options);
  const api = limiter(gcra({ limit: 1_000, period: "1d", burst: 1_000 }), { store, prefix: "api" });
  const answers = () => Promise.resolve(api.consume("a")).then(() => true, () => false);
  while (!await answers());
  proxy.cut();
  while (await answers());
  for (let calls = 0; calls < 30; calls++) {
    assert.equal(await answers(), false);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  proxy.heal();
  const healed = performance.now();
  while (!await answers()) {
    assert.ok(performance.now() - healed < 20_000, "not noticed in 20 seconds");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await store.close();
  await proxy.stop();
  await fake.stop();
});
