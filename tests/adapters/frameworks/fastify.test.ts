import Fastify from "fastify";
import assert from "node:assert/strict";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { describe, test } from "node:test";

import { decisionOf, rateLimit, rateLimitHook } from "../../../adapters/frameworks/fastify.ts";
import { gcra, limiter } from "../../../mod.ts";
import { apiLimiter, describeAdapter } from "../../support/adapter_behaviour.ts";
import { using } from "../../support/adapter_subject.ts";
import { withLoginRules } from "../../support/login_rules.ts";
import { rawRequest } from "../../support/raw_request.ts";
import type { TestServer } from "../../support/serve_fetch.ts";

describeAdapter("tidegate/fastify", {
  makers: [rateLimit, rateLimitHook],
  keepsDecision: true,
  async start(limits, { flow, slow }) {
    const app = Fastify({ forceCloseConnections: true });
    for (const options of limits) await app.register(rateLimit(options));
    app.addHook("onSend", (request, reply, payload, done) => {
      if (request.url === "/replaced") reply.code(418);
      done(null, request.url === "/replaced" ? "replaced" : payload);
    });
    app.get("/replaced", () => "hello");
    app.get("/slow", ({ raw }) =>
      new Promise((resolve, reject) => {
        slow(
          (gone) => raw.once("aborted", gone),
          (fails) => fails ? reject(new Error("gone")) : resolve("late"),
        );
      }));
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
    return await listening(app);
  },
  async startScoped(options) {
    const app = Fastify({ forceCloseConnections: true });
    for (const prefix of ["/in", "/out"]) {
      await app.register(async (scope) => {
        if (prefix === "/in") await scope.register(rateLimit(options));
        scope.get("/text", () => "hello");
        scope.get("/throw", () => {
          throw new Error("boom");
        });
      }, { prefix });
    }
    return await listening(app);
  },
  async startTrusting(options) {
    const app = Fastify({ forceCloseConnections: true, trustProxy: "127.0.0.1" });
    await app.register(rateLimit(options));
    app.get("/", () => "hello");
    return await listening(app);
  },
  async startAnswering(options, { answered, went }) {
    const app = Fastify({
      forceCloseConnections: true,
      logger: { level: "warn", stream: { write: () => went("warning") } },
    });
    app.addHook("onRequest", (_request, reply, done) => {
      done();
      reply.code(503).send("too late");
      answered();
    });
    await app.register(rateLimit(options));
    app.get("/", () => went("handler"));
    return await listening(app);
  },
});

describe("tidegate/fastify", () => {
  test("limits a scope, and single routes, one limit before the other", async () => {
    const app = Fastify({ forceCloseConnections: true });
    const login = gcra({ name: "login", limit: 1, period: "1m", burst: 1 });
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
    await using(await listening(app), async (port) => {
      const limited = await rawRequest(port, { path: "/limited" });
      assert.deepEqual(limited.values("ratelimit"), ['"api";r=1;t=6, "login";r=0;t=60']);
      assert.deepEqual(limited.values("ratelimit-policy"), [
        '"api";q=10;w=60, "login";q=1;w=60',
      ]);
      assert.equal((await rawRequest(port, { path: "/other" })).body, "1");
      const refused = await rawRequest(port, { path: "/limited" });
      assert.equal(refused.status, 429);
      assert.deepEqual(refused.values("ratelimit"), ['"api";r=0;t=6, "login";r=0;t=60']);
      assert.deepEqual((await rawRequest(port)).values("ratelimit"), []);
    });
  });
});

async function listening(app: {
  readonly server: Server;
  listen(options: object): Promise<string>;
  close(): Promise<unknown>;
}): Promise<TestServer> {
  await app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = app.server.address() as AddressInfo;
  return { port, close: async () => void await app.close() };
}

test("tidegate/fastify limits a route of rules by each path that leads to it", async () => {
  for (const caseSensitive of [true, false]) {
    await withLoginRules(async (rules) => {
      const app = Fastify({
        rewriteUrl: ({ url = "/" }) => url.replace("/v1", "/api"),
        routerOptions: { caseSensitive },
      });
      app.register(rateLimit({ rules }));
      app.get("/api/:name", () => "in");
      const statusOf = async (url: string) => (await app.inject(url)).statusCode;
      assert.equal(await statusOf("/v1/login"), 200);
      for (const url of ["/v1/login", "/api/login"]) assert.equal(await statusOf(url), 429, url);
      assert.equal(await statusOf("/api/LOGIN"), caseSensitive ? 200 : 429);
      await app.close();
    });
  }
});
