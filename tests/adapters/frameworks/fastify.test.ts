import Fastify from "fastify";
import assert from "node:assert/strict";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { describe, test } from "node:test";

import { decisionOf, rateLimit, rateLimitHook } from "../../../adapters/frameworks/fastify.ts";
import { gcra, limiter } from "../../../mod.ts";
import { apiLimiter, describeAdapter } from "../../support/adapter_behaviour.ts";
import { rawRequest } from "../../support/raw_request.ts";

describeAdapter("tidegate/fastify", {
  async start(options, flow) {
    const app = Fastify({ forceCloseConnections: true });
    if (options !== undefined) await app.register(rateLimit(options));
    app.get("/", () => "hello");
    app.get("/text", () => "hello");
    app.get("/json", () => ({ a: 1 }));
    app.get("/image", (_request, reply) => reply.type("image/png").send(Buffer.alloc(4)));
    app.get("/empty", (_request, reply) => reply.code(204).send());
    app.get("/left", (request) => String(decisionOf(request)?.remaining));
    app.get("/bad", (_request, reply) => reply.code(400).send("bad"));
    app.get("/throw", () => {
      throw new Error("boom");
    });
    app.get("/stream", (_request, reply) =>
      reply.send(Readable.from(async function* () {
        yield "one";
        await flow();
        yield "two";
      }())));
    await app.listen({ port: 0, host: "127.0.0.1" });
    return { port: portOf(app), close: () => app.close() };
  },
});

describe("tidegate/fastify", () => {
  test("takes the client's address as the server's `trustProxy` says", async () => {
    const app = Fastify({ forceCloseConnections: true, trustProxy: "127.0.0.1" });
    await app.register(rateLimit({ limiter: apiLimiter() }));
    app.get("/", () => "hello");
    await app.listen({ port: 0, host: "127.0.0.1" });
    try {
      for (const [client, status] of [[1, 200], [1, 200], [1, 429], [2, 200]] as const) {
        const lines = [`X-Forwarded-For: 192.0.2.${client}`];
        assert.equal((await rawRequest(portOf(app), { lines })).status, status);
      }
    } finally {
      await app.close();
    }
  });

  test("limits a scope, and single routes, one limit before the other", async () => {
    const app = Fastify({ forceCloseConnections: true });
    const login = gcra({ name: "login", limit: 1, period: "1m" });
    const onRequest = rateLimitHook({
      limiter: limiter(login, { clock: () => 0 }),
      key: ({ ip, headers }) => `${ip} ${headers["x-user"]}`,
    });
    await app.register(async (scope) => {
      await scope.register(rateLimit({ limiter: apiLimiter() }));
      scope.get("/limited", { onRequest }, () => "hello");
    });
    // Written in place, its functions must be typed as well.
    const options = { limiter: apiLimiter(), headers: false } as const;
    app.get(
      "/other",
      { onRequest: rateLimitHook({ ...options, key: ({ ip }) => ip }) },
      (request) => String(decisionOf(request)?.remaining),
    );
    app.get("/", () => "hello");
    await app.listen({ port: 0, host: "127.0.0.1" });
    try {
      const limited = await rawRequest(portOf(app), { path: "/limited" });
      assert.deepEqual(limited.values("ratelimit"), ['"api";r=1;t=6, "login";r=0;t=60']);
      assert.deepEqual(limited.values("ratelimit-policy"), [
        '"api";q=10;w=60, "login";q=1;w=60',
      ]);
      assert.equal((await rawRequest(portOf(app), { path: "/other" })).body, "1");
      const refused = await rawRequest(portOf(app), { path: "/limited" });
      assert.equal(refused.status, 429);
      assert.deepEqual(refused.values("ratelimit"), ['"api";r=0;t=6, "login";r=0;t=60']);
      assert.deepEqual((await rawRequest(portOf(app))).values("ratelimit"), []);
    } finally {
      await app.close();
    }
  });
});

function portOf({ server }: { readonly server: Server }): number {
  return (server.address() as AddressInfo).port;
}
