import express, { type RequestHandler } from "express";
import Fastify from "fastify";
import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";

import { rateLimit as onExpress } from "../../../adapters/frameworks/express.ts";
import { rateLimit as onFastify } from "../../../adapters/frameworks/fastify.ts";
import { rateLimit as onNode } from "../../../adapters/frameworks/node.ts";
import { apiLimiter } from "../../support/adapter_behaviour.ts";
import { rawRequest } from "../../support/raw_request.ts";
import type { TestServer } from "../../support/serve_fetch.ts";
import { serveNode } from "../../support/serve_node.ts";

/** Options that mean the same in every adapter. */
interface Given {
  readonly limiter: ReturnType<typeof apiLimiter>;
  readonly key: () => Promise<string>;
}

/** What a server does that answers 503 while a request waits for its verdict. */
interface Meanwhile {
  /** Called when the 503 has been sent. */
  answered(): void;
  /** Called if the request gets to its handler all the same, or an error is told. */
  went(where: string): void;
}

type Start = (options: Given, meanwhile: Meanwhile) => Promise<TestServer>;

const servers: Readonly<Record<string, Start>> = {
  node(options, { answered, went }) {
    const limited = onNode({ ...options, onError: () => went("error") })(() => went("handler"));
    return serveNode((request, response) => {
      limited(request, response);
      response.statusCode = 503;
      response.end("too late", answered);
    });
  },
  express(options, { answered, went }) {
    const app = express().set("env", "test");
    app.use(
      ((_request, response, next) => {
        next();
        response.status(503).send("too late");
        answered();
      }) as RequestHandler,
    );
    app.use(onExpress(options));
    app.get("/", () => went("handler"));
    app.use(
      ((_error: Error, _request: unknown, _response: unknown, _next: unknown) =>
        went("error")) as never,
    );
    return serveNode(app);
  },
  async fastify(options, { answered, went }) {
    const app = Fastify({
      forceCloseConnections: true,
      logger: { level: "warn", stream: { write: () => went("warning") } },
    });
    app.addHook("onRequest", (_request, reply, done) => {
      done();
      reply.code(503).send("too late");
      answered();
    });
    await app.register(onFastify(options));
    app.get("/", () => went("handler"));
    await app.listen({ port: 0, host: "127.0.0.1" });
    return { port: (app.server.address() as AddressInfo).port, close: () => app.close() };
  },
};

for (const [name, start] of Object.entries(servers)) {
  describe(`a response of ${name} that is sent before there is a verdict`, () => {
    for (const [verdict, used] of [["admitted", 0], ["refused", 2]] as const) {
      test(`stays as it is, and no handler runs, if the request is ${verdict}`, async () => {
        const limiter = apiLimiter();
        if (used > 0) limiter.consume("one", used);
        let answered = () => {};
        const sent = new Promise<void>((resolve) => answered = resolve);
        const places: string[] = [];
        const options = { limiter, key: () => sent.then(() => "one") };
        const server = await start(options, { answered, went: (place) => places.push(place) });
        try {
          const answer = await rawRequest(server.port);
          assert.deepEqual([answer.status, answer.body], [503, "too late"]);
          // What goes wrong after that, an error that nobody hears of among it, fails this test.
          await new Promise((resolve) => setTimeout(resolve, 20));
          assert.deepEqual(places, []);
        } finally {
          await server.close();
        }
      });
    }
  });
}
