import assert from "node:assert/strict";
import { test } from "node:test";
import process from "node:process";
import { createClient } from "redis";

import { gcra, limiter, slidingLog } from "../../../mod.ts";
import { redisStore } from "../../../stores/redis/redis_store.ts";
import { isLong } from "../../support/seed.ts";
import { withRedis } from "../../support/redis/with_redis.ts";

const MODES = ["watch", "cas", "script"] as const;

/** How many keys come and go; a million where TIDEGATE_KEYS says so. */
const KEYS = Number(process.env["TIDEGATE_KEYS"] ?? 5_000);

/** How much sooner keys expire here than the store says, in ms; not at all in the long run. */
const SOONER = isLong() || process.env["TIDEGATE_KEYS"] !== undefined ? 0 : 7_900;

withRedis("values on a real server", (_redis, { storeOf, clientOf }) => {
  for (const commit of MODES) {
    test(`that are no states count as absent, and are replaced, by ${commit}`, async () => {
      const client = await clientOf();
      const store = storeOf({ commit });
      const api = limiter(gcra({ limit: 1, period: "1d", burst: 10 }), { store, prefix: commit });
      const stored = (key: string) => `${commit}:{${key}}:gcra/1/86400000`;
      await client.lPush(stored("list"), ["a", "b"]);
      await client.set(stored("bytes"), Buffer.from([0xff, 0xfe, 0x00, 0xff]));
      await client.hSet(stored("hash"), "a", "b");
      const texts = {
        "written by hand": "hello",
        "of a foreign version": "t9 1799999999999",
        "of another algorithm": "w1 1799999999999 3",
        "with something behind it": "t1 1799999999999 ",
      };
      for (const [key, text] of Object.entries(texts)) {
        await client.set(stored(key), text);
        assert.equal((await api.peek(key, 0)).remaining, 10);
        assert.equal(await client.get(stored(key)), text, "a look replaces nothing");
      }
      assert.ok(store.statistics().unreadable >= 4);
      for (const key of ["list", "bytes", "hash", ...Object.keys(texts)]) {
        assert.equal((await api.peek(key, 0)).remaining, 10);
        assert.equal((await api.consume(key)).remaining, 9);
        assert.equal((await api.consume(key)).remaining, 8);
        assert.equal(await client.type(stored(key)), "string");
        assert.ok(await client.pTTL(stored(key)) > 0);
      }
      await client.lPush(stored("reset"), "a");
      await api.reset("reset");
      assert.equal((await api.consume("reset")).remaining, 9);
    });
  }

  test("are forgotten by their prefix, whatever it holds, in steps and with hash tags", async () => {
    const client = await clientOf();
    await client.flushAll();
    const tagged = { hashTag: (key: string) => key.slice(0, 1) };
    const stores = [{}, tagged].map((options) => storeOf(options));
    const prefixes = ["a*[b]?^-\\{c}", "a*", "a", "a:b"];
    for (const store of stores) {
      const limiters = prefixes.map((prefix) =>
        limiter(gcra({ limit: 1, period: "1d", burst: 1 }), { store, prefix })
      );
      const keys = Array.from({ length: 1_500 }, (_, index) => `${index} key`);
      await Promise.all(limiters.flatMap((api) => keys.map((key) => api.consume(key))));
      for (let done = 1; done <= limiters.length; done++) {
        await limiters[done - 1]!.resetPrefix();
        assert.equal(await client.dbSize(), (limiters.length - done) * keys.length);
      }
      await store.close();
      await assert.rejects(limiters[0]!.resetPrefix(), /must be open/);
    }
  });

  test("that are to be forgotten say so where nobody answers", async () => {
    const store = redisStore(createClient({ url: "redis://127.0.0.1:1" }));
    const api = limiter(gcra({ limit: 1, period: "1d", burst: 1 }), { store, prefix: "api" });
    await assert.rejects(
      api.resetPrefix(),
      /^StoreUnavailableError: Cannot delete the keys of a prefix/,
    );
    await store.close();
  });

  test("come and go, and leave nothing behind", async () => {
    const client = await clientOf();
    await client.flushAll();
    const before = await usedMemory(client);
    const stores = MODES.map((commit) => storeOf({ commit, deadline: 10_000, timeout: 60_000 }));
    const limiters = stores.flatMap((store) => [
      limiter(slidingLog({ limit: 3, period: 1 }), { store, prefix: "log" }),
      limiter(gcra({ limit: 3, period: 1, burst: 3 }), { store, prefix: "gcra" }),
    ]);
    let next = 0;
    await Promise.all(Array.from({ length: 500 }, async () => {
      while (next < KEYS) await limiters[next % limiters.length]!.consume(`key ${next++}`);
    }));
    const keys = await client.dbSize();
    assert.ok(keys > 0);
    for await (const page of client.scanIterator({ COUNT: 1_000 })) {
      const lives = await Promise.all(page.map((key) => client.pTTL(key)));
      assert.ok(lives.every((life) => life !== -1 && life <= 8_001), "every key expires");
      // The store keeps a key 8 s longer than its state counts. That is asserted; it need not pass.
      const sooner = lives.map((life) => Math.max(1, life - SOONER));
      await Promise.all(page.map((key, index) => client.pExpire(key, sooner[index]!)));
    }
    const end = performance.now() + 60_000;
    while (await client.dbSize() > 0 && performance.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.equal(await client.dbSize(), 0);
    await Promise.all(stores.map((store) => store.close()));
    const grown = await usedMemory(client) - before;
    assert.ok(grown < 2_000_000, `${grown} bytes more than before`);
  });
});

async function usedMemory(client: { info(section: string): Promise<string> }): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await client.info("memory"))?.[1]);
}
