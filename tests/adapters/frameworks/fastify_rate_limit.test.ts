import fastifyRateLimit from "@fastify/rate-limit";
import Fastify, { type FastifyInstance } from "fastify";
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { fastifyRateLimitStore } from "../../../adapters/frameworks/fastify.ts";
import type { HitStoreOptions } from "../../../adapters/frameworks/fastify.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";

/** An app with the plugin, a limit for all routes, and routes that limit themselves. */
async function appWith(options: HitStoreOptions = {}): Promise<FastifyInstance> {
  const app = Fastify();
  await app.register(fastifyRateLimit, { max: 5, store: fastifyRateLimitStore(options) });
  app.get("/", () => "hello");
  app.get("/files", { config: { rateLimit: { max: 1 } } }, () => "files");
  // A route with a hook of its own must not get the plugin's as well.
  const own = { config: { rateLimit: false as const } };
  app.get("/search", { ...own, onRequest: app.rateLimit({ max: 3 }) }, () => "found");
  app.get("/login", { ...own, onRequest: app.rateLimit({ max: 2 }) }, () => "welcome");
  const check = app.createRateLimit({ max: 1 });
  app.get("/checked", own, async (request) => {
    const limit = await check(request);
    return !limit.isAllowed && limit.isExceeded ? "exceeded" : "fine";
  });
  await app.ready();
  return app;
}

/** The statuses of one request after the other. */
async function statusesOf(app: FastifyInstance, paths: string): Promise<string> {
  const seen: number[] = [];
  for (const path of paths.split(" ")) seen.push((await app.inject(path)).statusCode);
  return seen.join(" ");
}

describe("@fastify/rate-limit counts in our store", () => {
  test("for all routes together, and separately for routes with a limit of their own", async () => {
    const app = await appWith();
    assert.equal(await statusesOf(app, "/files /files / /"), "200 429 200 200");
    await app.close();
  });

  test("apart for each limiter that belongs to no route", async () => {
    const app = await appWith();
    assert.equal(await statusesOf(app, "/search /search /search /search"), "200 200 200 429");
    assert.equal(await statusesOf(app, "/login /login /login"), "200 200 429");
    const bodies = [];
    for (let call = 0; call < 2; call++) bodies.push((await app.inject("/checked")).body);
    assert.deepEqual(bodies, ["fine", "exceeded"]);
    await app.close();
  });

  test("together with another process that makes the same limiters", async () => {
    const options = { store: asyncMemoryStore(), prefix: "web" };
    const [one, other] = [await appWith(options), await appWith(options)];
    assert.equal(await statusesOf(one, "/login /search"), "200 200");
    assert.equal(await statusesOf(other, "/login /search"), "200 200");
    assert.equal(await statusesOf(one, "/login /search"), "429 200");
    await Promise.all([one.close(), other.close()]);
  });

  test("apart for plugins of several scopes, whose limiters belong to no route", async () => {
    const Store = fastifyRateLimitStore();
    const app = Fastify();
    for (const [path, max] of [["/search", 1], ["/login", 1]] as const) {
      await app.register(async (scope) => {
        await scope.register(fastifyRateLimit, { global: false, store: Store });
        scope.get(path, { onRequest: scope.rateLimit({ max }) }, () => "hello");
      });
    }
    assert.equal(await statusesOf(app, "/search /search /login /login"), "200 429 200 429");
    await app.close();
  });
});
