import { Elysia } from "elysia";
import express from "express";
import Fastify from "fastify";
import { Hono } from "hono";
import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { test } from "node:test";

import { rateLimit as onElysia } from "../../../adapters/frameworks/elysia.ts";
import {
  decisionOf as decisionOnExpress,
  rateLimit as onExpress,
} from "../../../adapters/frameworks/express.ts";
import {
  decisionOf as decisionOnFastify,
  rateLimit as onFastify,
} from "../../../adapters/frameworks/fastify.ts";
import { rateLimit as onHono, type RateLimitVariables } from "../../../adapters/frameworks/hono.ts";
import { apiLimiter } from "../../support/adapter_behaviour.ts";
import { rawRequest } from "../../support/raw_request.ts";
import { serveFetch, type TestServer } from "../../support/serve_fetch.ts";
import { serveNode } from "../../support/serve_node.ts";

const first = () => ({ limiter: apiLimiter(), key: () => "one" });
const second = () => ({ ...first(), skip: () => true });

/** Apps with two limits, the second of which skips every request; they answer what is left. */
const apps: Readonly<Record<string, () => Promise<TestServer>>> = {
  hono() {
    const app = new Hono<{ Variables: RateLimitVariables }>();
    app.use(onHono(first()));
    app.use(onHono(second()));
    app.get("/", (c) => c.text(String(c.get("rateLimit")?.remaining)));
    return serveFetch(app.fetch);
  },
  elysia() {
    const app = new Elysia()
      .use(onElysia(first()))
      .use(onElysia(second()))
      .get("/", ({ rateLimit }) => String(rateLimit?.remaining));
    return serveFetch(app.handle);
  },
  express() {
    const app = express();
    app.use(onExpress(first()));
    app.use(onExpress(second()));
    app.get("/", (_request, response) => {
      response.send(String(decisionOnExpress(response)?.remaining));
    });
    return serveNode(app);
  },
  async fastify() {
    const app = Fastify({ forceCloseConnections: true });
    await app.register(onFastify(first()));
    await app.register(onFastify(second()));
    app.get("/", (request) => String(decisionOnFastify(request)?.remaining));
    await app.listen({ port: 0, host: "127.0.0.1" });
    return { port: (app.server.address() as AddressInfo).port, close: () => app.close() };
  },
};

for (const [name, start] of Object.entries(apps)) {
  test(`a decision on ${name} outlives a later limit that skips the request`, async () => {
    const server = await start();
    try {
      assert.equal((await rawRequest(server.port)).body, "1");
    } finally {
      await server.close();
    }
  });
}
