import { Elysia } from "elysia";
import { Hono } from "hono";
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { rateLimit as limitElysia } from "../../../adapters/frameworks/elysia.ts";
import { rateLimit as limitHono } from "../../../adapters/frameworks/hono.ts";
import { rateLimit } from "../../../adapters/http/http.ts";
import { rateLimit as limitNode } from "../../../adapters/frameworks/node.ts";
import { apiLimiter } from "../../support/adapter_behaviour.ts";
import { rawRequest } from "../../support/raw_request.ts";
import { runtime } from "../../support/runtime.ts";
import { serveFetch, type TestServer } from "../../support/serve_fetch.ts";
import { serveNode } from "../../support/serve_node.ts";

/** What Bun.serve calls for its websockets. */
const echo = {
  websocket: {
    message: (socket: { send(message: string): void }, message: string) => socket.send(message),
  },
};

/** What answers a request for a websocket on this runtime, echoing what it is sent. */
function upgrade(request: Request, server: { upgrade(request: Request): boolean }) {
  const { Deno } = globalThis as {
    Deno?: { upgradeWebSocket(request: Request): { response: Response; socket: WebSocket } };
  };
  if (Deno === undefined) {
    return server.upgrade(request) ? undefined : new Response(null, { status: 400 });
  }
  const { response, socket } = Deno.upgradeWebSocket(request);
  socket.onmessage = ({ data }) => socket.send(data);
  return response;
}

/** Sends a message through a websocket, and answers what comes back; `undefined` if it is refused. */
function echoed(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/socket`);
    let answer: string | undefined;
    socket.onopen = () => socket.send("hello");
    socket.onmessage = ({ data }) => {
      answer = String(data);
      socket.close();
    };
    socket.onerror = () => {};
    socket.onclose = () => resolve(answer);
  });
}

const wanted = (request: Request) => request.headers.get("upgrade") === "websocket";

const apps: Record<string, () => Promise<TestServer>> = {
  "tidegate/http"() {
    const limited = rateLimit({ limiter: apiLimiter() });
    return serveFetch(
      limited((request, server) =>
        wanted(request) ? upgrade(request, server as never) : new Response("hello")
      ),
      echo,
    );
  },
  "tidegate/hono"() {
    const app = new Hono();
    app.use(limitHono({ limiter: apiLimiter() }));
    // As hono/bun does it: the server has answered already.
    app.get("/socket", (c) => upgrade(c.req.raw, c.env as never) ?? new Response(null));
    app.get("/", (c) => c.text("hello"));
    return serveFetch(app.fetch, echo);
  },
  async "tidegate/elysia"() {
    const address = runtime() === "bun" ? undefined : () => "127.0.0.1";
    const app = new Elysia().use(limitElysia({ limiter: apiLimiter(), address })).get(
      "/",
      () => "hello",
    );
    if (runtime() !== "bun") {
      app.get("/socket", ({ request }) => upgrade(request, undefined as never));
      return await serveFetch(app.handle);
    }
    app.ws("/socket", { message: (socket, message) => void socket.send(message) });
    app.listen({ port: 0, hostname: "127.0.0.1" });
    return { port: app.server!.port!, close: async () => void await app.stop(true) };
  },
};

/** What Node's own server knows of websockets is an event, which no adapter comes between. */
async function untouchedOnNode(): Promise<void> {
  const limited = limitNode({ limiter: apiLimiter() });
  const server = await serveNode(limited((_request, response) => void response.end("hello")));
  try {
    const lines = ["Upgrade: websocket"];
    assert.equal((await rawRequest(server.port, { lines })).status, 200);
  } finally {
    await server.close();
  }
}

describe("an upgrade to a websocket is unharmed, and limited, by", () => {
  for (const [name, start] of Object.entries(apps)) {
    test(name, async () => {
      if (runtime() === "node") return await untouchedOnNode();
      const server = await start();
      try {
        assert.equal(await echoed(server.port), "hello");
        assert.equal((await rawRequest(server.port)).status, 200);
        assert.equal((await rawRequest(server.port)).status, 429);
        assert.equal(await echoed(server.port), undefined);
      } finally {
        await server.close();
      }
    });
  }
});
