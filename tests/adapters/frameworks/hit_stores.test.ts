import { Elysia } from "elysia";
import { DefaultContext, rateLimit as elysiaRateLimit } from "elysia-rate-limit";
import express from "express";
import { MemoryStore, rateLimit as expressRateLimit, type Store } from "express-rate-limit";
import { Hono } from "hono";
import { rateLimiter } from "hono-rate-limiter";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";

import { elysiaRateLimitContext } from "../../../adapters/frameworks/elysia.ts";
import { expressRateLimitStore } from "../../../adapters/frameworks/express.ts";
import {
  type FastifyRateLimitStore,
  fastifyRateLimitStore,
} from "../../../adapters/frameworks/fastify.ts";
import { honoRateLimiterStore } from "../../../adapters/frameworks/hono.ts";
import type { HitStoreOptions } from "../../../adapters/frameworks/hono.ts";
import {
  type AsyncStore,
  type Decision,
  memoryStore,
  StoreOverloadedError,
  StoreUnavailableError,
} from "../../../mod.ts";
import { fallback } from "../../../stores/layered/layered.ts";
import { sharedStore } from "../../../stores/shared/shared_store.ts";
import { using } from "../../support/adapter_subject.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";
import { rawRequest } from "../../support/raw_request.ts";
import { serveFetch, type TestServer } from "../../support/serve_fetch.ts";
import { fcOptions } from "../../support/seed.ts";
import { serveNode } from "../../support/serve_node.ts";
import { testClock } from "../../support/test_clock.ts";
import { interceptedStore } from "../../support/intercepted_store.ts";

/** Starts an app of each framework with the middleware of others, which counts in the given store. */
const apps: Record<string, (options: HitStoreOptions) => Promise<TestServer>> = {
  "express-rate-limit"(options) {
    const app = express().set("env", "test");
    app.use(expressRateLimit({
      windowMs: 60_000,
      limit: 2,
      skipFailedRequests: true,
      standardHeaders: "draft-7",
      store: expressRateLimitStore(options),
      passOnStoreError: true,
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

/** The statuses of one request after the other. */
async function statusesOf(start: () => Promise<TestServer>, paths: string): Promise<number[]> {
  const seen: number[] = [];
  await using(await start(), async (port) => {
    for (const path of paths.split(" ")) seen.push((await rawRequest(port, { path })).status);
  });
  return seen;
}

for (const [name, start] of Object.entries(apps)) {
  describe(`the store for ${name}`, () => {
    const statuses = (options: HitStoreOptions, paths: string) =>
      statusesOf(() => start(options), paths);

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
  });
}

/** A store that is away: what units a call takes decides what becomes of it. */
function storeThatIsAway(answer: (cost: number) => Partial<Decision> | undefined): AsyncStore {
  return interceptedStore(asyncMemoryStore(), async (calls, proceed) => {
    const answered = answer(calls[0]!.cost);
    if (answered === undefined) throw new StoreUnavailableError("Cannot reach it", "no");
    const decisions = await proceed();
    return decisions.map((decision) => ({ ...decision as Decision, ...answered }));
  });
}

for (const [name, start] of Object.entries(apps)) {
  describe(`the store for ${name}, where the store below is away,`, () => {
    const statuses = (store: AsyncStore, paths: string) =>
      statusesOf(() => start({ store, prefix: "a" }), paths);

    test("refuses while too many calls wait, even where failures are let pass", async () => {
      const store = storeThatIsAway(() => {
        throw new StoreOverloadedError("Cannot decide as too many calls wait");
      });
      assert.deepEqual(await statuses(store, "/"), [429]);
    });

    test("admits or refuses as its failure policy says", async () => {
      const policy = (allowed: boolean) =>
        storeThatIsAway(() => ({
          allowed,
          remaining: 0,
          retryAfter: allowed ? 0 : 1_000,
          nextAfter: 0,
          resetAfter: 0,
          source: "policy",
        }));
      assert.deepEqual(await statuses(policy(true), "/ / /"), [200, 200, 200]);
      assert.deepEqual(await statuses(policy(false), "/"), [429]);
    });

    test("leaves the answer alone if a hit cannot be taken back", async () => {
      const store = storeThatIsAway((cost) => cost < 0 ? undefined : {});
      const good = storeThatIsAway(() => ({}));
      const [expected] = await statuses(good, "/bad");
      assert.deepEqual(await statuses(store, "/bad /bad /"), [expected, expected, 429]);
    });
  });
}

describe("the stores of others", () => {
  test("count keys that a store would not take", async () => {
    const store = expressRateLimitStore();
    store.init({ windowMs: 60_000 });
    const hits = async (key: string) => (await store.increment(key)).totalHits;
    assert.deepEqual([await hits(""), await hits(""), await hits("one")], [1, 2, 1]);
    assert.deepEqual([await hits("half \ud83d"), await hits("half \ud83d")], [1, 2]);
    await store.decrement("");
    assert.equal((await store.get(""))?.totalHits, 1);
    await store.resetKey("");
    assert.equal(await store.get(""), undefined);
    await assert.rejects(async () => await store.increment(undefined as never), TypeError);
  });

  test("count keys that are numbers, in windows of a fraction of a millisecond", async () => {
    const fraction = 1_000 / 30 * 60;
    const key = 42 as unknown as string;
    const store = expressRateLimitStore({ clock: testClock(0) });
    store.init({ windowMs: fraction });
    await store.increment(key);
    const resetTime = new Date(2_001);
    assert.deepEqual(await store.increment("42"), { totalHits: 2, resetTime });
    await store.decrement(key);
    assert.equal((await store.get(key))?.totalHits, 1);
    await store.resetKey(key);
    assert.equal(await store.get(key), undefined);
    const context = elysiaRateLimitContext({ clock: testClock(0) });
    context.init({ duration: fraction });
    const { count, nextReset } = await context.increment(key);
    assert.deepEqual([count, nextReset], [1, resetTime]);
  });

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
    await store.increment("one");
    await store.resetAll!();
    assert.equal(await store.get!("one"), undefined);
  });

  test("keep a window whose hits were taken back, as the middleware's own store does", async () => {
    const clock = testClock(1_000);
    const store = expressRateLimitStore({ clock });
    store.init({ windowMs: 1_000 });
    const own = new MemoryStore();
    own.init({ windowMs: 1_000 } as never);
    for (const each of [store, own]) {
      await each.increment("one");
      await each.decrement("one");
      assert.equal((await each.get("one"))?.totalHits, 0);
      await each.decrement("one");
      assert.equal((await each.increment("one")).totalHits, 1);
    }
    own.shutdown();
    await clock.advance(900);
    await store.decrement("one");
    assert.deepEqual(await store.get("one"), { totalHits: 0, resetTime: new Date(2_000) });
    assert.deepEqual(await store.increment("one"), { totalHits: 1, resetTime: new Date(2_000) });
    await clock.advance(100);
    assert.equal(await store.get("one"), undefined);
  });

  test("count before the middleware has begun, in its usual window", async () => {
    const store = expressRateLimitStore({ clock: testClock(0) });
    assert.equal(await store.get("one"), undefined);
    await store.decrement("one");
    await store.resetKey("one");
    await store.resetAll();
    const resetTime = new Date(60_000);
    assert.deepEqual(await store.increment("one"), { totalHits: 1, resetTime });
    store.init({ windowMs: 1_000 });
    assert.deepEqual(await store.increment("one"), { totalHits: 2, resetTime });
  });

  test("reject costs that they cannot count, where the plugin's own context does", async () => {
    for (const context of [elysiaRateLimitContext(), new DefaultContext()]) {
      context.init({ duration: () => 1_000 } as never);
      await rejects(() => context.increment("one"), /duration is required|duration must be known/);
    }
    const context = elysiaRateLimitContext();
    for (const duration of [0, -1, NaN, Infinity]) {
      await rejects(() => context.increment("one", duration), RangeError);
    }
    await rejects(() => context.increment(undefined as never, 1), TypeError);
    assert.equal((await context.increment("one", 1_000, NaN)).count, 1);
    await rejects(() => context.decrement(undefined as never), TypeError);
    await rejects(() => context.reset({} as never), TypeError);

    /** Checks that it neither answers nor throws. */
    function rejects(call: () => unknown, error: RegExp | typeof TypeError): Promise<void> {
      const answer = call();
      return assert.rejects(answer as Promise<unknown>, error);
    }
  });

  test("may be taken back, and forgotten, whatever the duration", async () => {
    const context = elysiaRateLimitContext({ clock: testClock(0) });
    context.init({ duration: () => 1_000 });
    const hit = { count: 1, nextReset: new Date(1_000), start: 0 };
    assert.deepEqual(await context.increment("one", 1_000), hit);
    await context.increment("one", 1_000);
    assert.equal((await context.increment("two", 5_000)).nextReset.getTime(), 5_000);
    await context.decrement("one");
    assert.equal((await context.increment("one", 1_000)).count, 2);
    await context.reset("two");
    assert.equal((await context.increment("two", 5_000)).count, 1);
    await context.reset();
    assert.equal((await context.increment("one", 1_000)).count, 1);
    context.kill();
  });
});

describe("the store for @fastify/rate-limit", () => {
  /** One call as the plugin makes it. */
  function call(
    store: FastifyRateLimitStore,
    method: "incr" | "read",
    key: string,
  ): Promise<{ current: number; ttl: number } | undefined> {
    return new Promise((resolve, reject) =>
      store[method](key, (error, result) => error ? reject(error) : resolve(result), 1_000, 2)
    );
  }

  test("counts hits from the first one on, and reads without counting", async () => {
    const clock = testClock(0);
    const store = new (fastifyRateLimitStore({ clock }))({});
    assert.deepEqual(await call(store, "read", "one"), { current: 0, ttl: 0 });
    assert.deepEqual(await call(store, "incr", "one"), { current: 1, ttl: 1_000 });
    await clock.advance(400);
    assert.deepEqual(await call(store, "incr", "one"), { current: 2, ttl: 600 });
    assert.deepEqual(await call(store, "read", "one"), { current: 2, ttl: 600 });
    await clock.advance(600);
    assert.deepEqual(await call(store, "incr", "one"), { current: 1, ttl: 1_000 });
  });

  test("counts apart for each route with a limit of its own, in any store", async () => {
    const options = { store: asyncMemoryStore(), prefix: "a" };
    const [first, second] = [1, 2].map(() => new (fastifyRateLimitStore(options))({}));
    const login = { routeInfo: { method: "POST", url: "/login" } };
    assert.equal((await call(first!, "incr", "one"))?.current, 1);
    assert.equal((await call(second!, "incr", "one"))?.current, 2);
    assert.equal((await call(first!.child(login), "incr", "one"))?.current, 1);
    assert.equal((await call(second!.child(login), "incr", "one"))?.current, 2);
    // Keys that clients choose reach no other route.
    const files = { routeInfo: { method: "POST", url: "/login-as" } };
    await call(first!, "incr", "POST/login-two");
    await call(first!, "incr", "POST /login two");
    await call(first!.child(files), "incr", "three");
    assert.equal((await call(first!.child(login), "read", "two"))?.current, 0);
    assert.equal((await call(first!.child(login), "read", "as-three"))?.current, 0);
  });

  test("passes on errors of the store, and rejects options that it cannot honour", async () => {
    const store = storeThatIsAway(() => undefined);
    const away = new (fastifyRateLimitStore({ store, prefix: "a" }))({});
    await assert.rejects(call(away, "incr", "one"), StoreUnavailableError);
    for (const option of ["continueExceeding", "exponentialBackoff"]) {
      assert.throws(() => new (fastifyRateLimitStore())({ [option]: true }), {
        name: "RangeError",
        message: `Cannot count hits as ${option} must be false: current value is true`,
      });
    }
    assert.throws(() => fastifyRateLimitStore({ store: memoryStore() }), /prefix/);
  });
});

describe("the context for elysia-rate-limit counts a key once,", () => {
  const stores: Record<string, HitStoreOptions["store"]> = {
    "in its own store": undefined,
    "in an asynchronous store": asyncMemoryStore(),
    "in shared memory": sharedStore({ capacity: 1_000 }),
  };
  let made = 0;
  for (const [where, store] of Object.entries(stores)) {
    const options = () => store === undefined ? {} : { store, prefix: String(made++) };

    test(`${where}, where the duration is the time until midnight`, async () => {
      const midnight = 1_764_028_800_000;
      const clock = testClock(midnight - 10_000);
      const context = elysiaRateLimitContext({ ...options(), clock });
      context.init({ duration: () => midnight - clock() });
      for (let count = 1; count <= 5; count++) {
        const hit = await context.increment("one", midnight - clock());
        assert.deepEqual([hit.count, hit.nextReset.getTime()], [count, midnight]);
        await clock.advance(1_999);
      }
      await clock.advance(5);
      assert.equal((await context.increment("one", 1_000)).count, 1);
    });

    test(`${where}, as the plugin's own context does`, async () => {
      const hits = fc.array(
        fc.record({
          passed: fc.nat({ max: 50 }),
          key: fc.constantFrom("one", "two"),
          duration: fc.integer({ min: 1, max: 100 }),
          fails: fc.boolean(),
        }),
        { minLength: 1, maxLength: 30 },
      );
      await fc.assert(
        fc.asyncProperty(hits, async (hits) => {
          let now = 1_764_000_000_000;
          const duration = () => 1;
          const own = new DefaultContext();
          own.init({ duration } as never);
          const context = elysiaRateLimitContext({ ...options(), clock: () => now });
          context.init({ duration });
          for (const { passed, key, duration, fails } of hits) {
            now += passed;
            const expected = { ...await own.increment(key, duration, now) };
            const { count, nextReset } = await context.increment(key, duration);
            assert.deepEqual({ count, nextReset }, {
              count: expected.count,
              nextReset: expected.nextReset,
            });
            if (fails) await Promise.all([own.decrement(key), context.decrement(key)]);
          }
        }),
        fcOptions({ numRuns: 100 }),
      );
    });
  }
});

test("the context for elysia-rate-limit counts at the time of the request", async () => {
  const own = new DefaultContext();
  const context = elysiaRateLimitContext();
  for (const each of [own, context]) each.init({ duration: 1_000 } as never);
  for (const requestTime of [1_000, 1_999, 2_000, 2_999, 3_000]) {
    const expected = { ...await own.increment("one", undefined, requestTime) };
    assert.deepEqual(await context.increment("one", undefined, requestTime), expected);
  }
  // If machines count together, their clocks differ, so the store's clock counts.
  const clock = testClock(0);
  const store = elysiaRateLimitContext({ store: memoryStore(), prefix: "a", clock });
  assert.equal((await store.increment("one", 1_000, 5_000)).nextReset.getTime(), 1_000);
});

test("hits that another store counts weigh as much as its share says", async () => {
  const away = storeThatIsAway(() => undefined);
  const store = fallback(away, memoryStore(), { share: 1 / 4 });
  const counted = expressRateLimitStore({ store, prefix: "a" });
  counted.init({ windowMs: 60_000 });
  const totals: number[] = [];
  for (let hits = 0; hits < 3; hits++) totals.push((await counted.increment("one")).totalHits);
  assert.deepEqual(totals, [4, 8, 12]);
});
