import { Elysia } from "elysia";
import express from "express";
import Fastify from "fastify";
import { Hono } from "hono";
import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { test } from "node:test";

import { rateLimit as onElysia } from "../../../adapters/frameworks/elysia.ts";
import { rateLimit as onExpress } from "../../../adapters/frameworks/express.ts";
import { rateLimit as onFastify } from "../../../adapters/frameworks/fastify.ts";
import { rateLimit as onHono } from "../../../adapters/frameworks/hono.ts";
import { type Outcome, rateLimit as onFetch } from "../../../adapters/http/http.ts";
import { rateLimit as onNode } from "../../../adapters/frameworks/node.ts";
import { apiLimiter } from "../../support/adapter_behaviour.ts";
import { rawRequest } from "../../support/raw_request.ts";
import { serveFetch, type TestServer } from "../../support/serve_fetch.ts";
import { serveNode } from "../../support/serve_node.ts";

/** Options that mean the same in every adapter. */
interface Given {
  readonly limiter: ReturnType<typeof apiLimiter>;
  readonly key: () => string;
  readonly refund: (outcome: Outcome) => boolean;
}

/**
 * Starts a server whose `/slow` calls `began`, and fails as soon as it hears that its client has
 * gone; `/bad` is a 400.
 */
type Start = (options: Given, began: () => void) => Promise<TestServer>;

/** Fails when the client has gone. */
function failing(signal: AbortSignal, began: () => void): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error("gone")));
    began();
  });
}

/** As `failing`, by the event of node:http. */
function failingOnNode(request: IncomingMessage, began: () => void): Promise<never> {
  return new Promise((_resolve, reject) => {
    request.once("aborted", () => reject(new Error("gone")));
    began();
  });
}

const servers: Readonly<Record<string, Start>> = {
  http(options, began) {
    return serveFetch(
      onFetch(options)(async ({ url, signal }) => {
        if (url.endsWith("/bad")) return new Response("bad", { status: 400 });
        await failing(signal, began).catch(() => {});
        return new Response("gone", { status: 500 });
      }),
    );
  },
  hono(options, began) {
    const app = new Hono();
    app.use(onHono(options));
    app.onError((_error, c) => c.text("it failed", 500));
    app.get("/slow", (c) => failing(c.req.raw.signal, began));
    app.get("/bad", (c) => c.text("bad", 400));
    return serveFetch(app.fetch);
  },
  elysia(options, began) {
    const app = new Elysia()
      .use(onElysia(options))
      .get("/slow", ({ request }) => failing(request.signal, began))
      .get("/bad", ({ status }) => status(400, "bad"));
    return serveFetch(app.handle);
  },
  node(options, began) {
    return serveNode(
      onNode(options)((request, response) => {
        response.statusCode = 400;
        if (request.url === "/bad") return void response.end("bad");
        // At once, before anything else is told that the client has gone.
        request.once("aborted", () => {
          response.statusCode = 500;
          response.end("gone");
        });
        began();
      }),
    );
  },
  express(options, began) {
    const app = express().set("env", "test");
    app.use(onExpress(options));
    app.get("/slow", (request, _response, next) => {
      request.once("aborted", () => next(new Error("gone")));
      began();
    });
    app.get("/bad", (_request, response) => void response.status(400).send("bad"));
    return serveNode(app);
  },
  async fastify(options, began) {
    const app = Fastify({ forceCloseConnections: true });
    await app.register(onFastify(options));
    app.get("/slow", (request) => failingOnNode(request.raw, began));
    app.get("/bad", (_request, reply) => reply.code(400).send("bad"));
    await app.listen({ port: 0, host: "127.0.0.1" });
    return { port: (app.server.address() as AddressInfo).port, close: () => app.close() };
  },
};

for (const [name, start] of Object.entries(servers)) {
  test(`${name} tells of a client that hangs up as 499, though the handler hears of it and fails`, async () => {
    const seen: number[] = [];
    const refund = ({ status }: Outcome) => seen.push(status) < 0;
    let began = () => {};
    const begun = new Promise<void>((resolve) => began = resolve);
    const server = await start({ limiter: apiLimiter(), key: () => "one", refund }, began);
    try {
      const socket = connect({ port: server.port, host: "127.0.0.1" });
      socket.on("error", () => {});
      socket.write("GET /slow HTTP/1.1\r\nHost: localhost:80\r\n\r\n");
      await begun;
      socket.destroy();
      await until(() => seen.length === 1);
      assert.equal((await rawRequest(server.port, { path: "/bad" })).status, 400);
      await until(() => seen.length === 2);
      assert.deepEqual(seen, [499, 400]);
    } finally {
      await server.close();
    }
  });
}

/** Waits for something that a server is about to do. */
async function until(done: () => boolean): Promise<void> {
  for (let tries = 0; tries < 1_000 && !done(); tries++) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
