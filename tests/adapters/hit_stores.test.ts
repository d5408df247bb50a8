import { Elysia } from "elysia";
import { rateLimit as elysiaRateLimit } from "elysia-rate-limit";
import express from "express";
import { rateLimit as expressRateLimit, type Store } from "express-rate-limit";
import { Hono } from "hono";
import { rateLimiter } from "hono-rate-limiter";
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { elysiaRateLimitContext } from "../../adapters/elysia.ts";
import { expressRateLimitStore } from "../../adapters/express.ts";
import { honoRateLimiterStore } from "../../adapters/hono.ts";
import type { HitStoreOptions } from "../../adapters/hono.ts";
import { memoryStore } from "../../mod.ts";
import { asyncMemoryStore } from "../support/async_memory_store.ts";
import { rawRequest } from "../support/raw_request.ts";
import { serveFetch, type TestServer } from "../support/serve_fetch.ts";
import { serveNode } from "../support/serve_node.ts";
import { testClock } from "../support/test_clock.ts";

/** Starts an app of each framework with the middleware of others, which counts where it is told. */
const apps: Record<string, (options: HitStoreOptions) => Promise<TestServer>> = {
  "express-rate-limit"(options) {
    const app = express().set("env", "test");
    app.use(expressRateLimit({
      windowMs: 60_000,
      limit: 2,
      skipFailedRequests: true,
      standardHeaders: "draft-7",
      store: expressRateLimitStore(options),
      validate: { xForwardedForHeader: false },
    }));
    app.get("/", (_request, response) => void response.send("hello"));
    app.get("/bad", (_request, response) => void response.status(400).send("bad"));
    return serveNode(app);
  },
  "hono-rate-limiter"(options) {
    const app = new Hono();
    app.use(rateLimiter({
      windowMs: 60_000,
      limit: 2,
      skipFailedRequests: true,
      keyGenerator: () => "one",
      store: honoRateLimiterStore(options),
    }));
    app.get("/", (c) => c.text("hello"));
    app.get("/bad", (c) => c.text("bad", 400));
    return serveFetch(app.fetch);
  },
  "elysia-rate-limit"(options) {
    const app = new Elysia()
      .use(elysiaRateLimit({
        duration: 60_000,
        max: 2,
        countFailedRequest: false,
        scoping: "global",
        generator: () => "one",
        context: elysiaRateLimitContext(options),
      }))
      .get("/", () => "hello")
      .get("/bad", () => {
        throw new Error("bad");
      });
    return serveFetch(app.handle);
  },
};

for (const [name, start] of Object.entries(apps)) {
  describe(`the store for ${name}`, () => {
    async function statuses(options: HitStoreOptions, paths: string): Promise<number[]> {
      const server = await start(options);
      try {
        const seen: number[] = [];
        for (const path of paths.split(" ")) {
          seen.push((await rawRequest(server.port, { path })).status);
        }
        return seen;
      } finally {
        await server.close();
      }
    }

    test("admits as many as the middleware's limit says", async () => {
      assert.deepEqual(await statuses({}, "/ / /"), [200, 200, 429]);
    });

    test("takes failed requests back", async () => {
      const seen = await statuses({}, "/bad /bad /bad / /");
      assert.deepEqual(seen.slice(3), [200, 200]);
    });

    test("counts in any store, together with others of the same prefix", async () => {
      const store = asyncMemoryStore();
      assert.deepEqual(await statuses({ store, prefix: "a" }, "/"), [200]);
      assert.deepEqual(await statuses({ store, prefix: "a" }, "/ /"), [200, 429]);
      assert.deepEqual(await statuses({ store, prefix: "b" }, "/"), [200]);
    });

    test("needs a prefix with a store", async () => {
      await assert.rejects(
        async () => await start({ store: memoryStore() }),
        /^TypeError: .*prefix must be a non-empty string/,
      );
    });
  });
}

describe("the stores of others", () => {
  test("open a window at the first hit", async () => {
    const clock = testClock(1_000_500);
    const store: Store = expressRateLimitStore({ clock });
    store.init!({ windowMs: 1_000 } as never);
    const resetTime = new Date(1_001_500);
    assert.equal(await store.get!("one"), undefined);
    assert.deepEqual(await store.increment("one"), { totalHits: 1, resetTime });
    await clock.advance(999);
    assert.deepEqual(await store.increment("one"), { totalHits: 2, resetTime });
    await store.decrement("one");
    assert.deepEqual(await store.get!("one"), { totalHits: 1, resetTime });
    await clock.advance(1);
    assert.equal(await store.get!("one"), undefined);
    await store.increment("one");
    await store.resetKey("one");
    assert.equal(await store.get!("one"), undefined);
  });

  test("must be told of the window", () => {
    assert.throws(() => expressRateLimitStore().increment("one"), /init must have been called/);
    assert.throws(() => elysiaRateLimitContext().increment("one"), /duration must be known/);
  });

  test("count windows of several lengths apart", async () => {
    const clock = testClock(0);
    const context = elysiaRateLimitContext({ clock });
    context.init({ duration: () => 1_000 });
    const hit = { count: 1, nextReset: new Date(1_000), start: 0 };
    assert.deepEqual(await context.increment("one", 1_000), hit);
    await context.increment("one", 1_000);
    await context.decrement("one");
    assert.equal((await context.increment("one", 1_000)).count, 2);
    assert.equal((await context.increment("two", 5_000)).nextReset.getTime(), 5_000);
    await context.reset("two");
    assert.equal((await context.increment("two", 5_000)).count, 1);
    assert.throws(() => context.reset(), TypeError);
    context.kill();
  });
});
