import express from "express";
import Fastify from "fastify";
import assert from "node:assert/strict";
import { createServer, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, test } from "node:test";

import { rateLimit as onExpress } from "../../../adapters/frameworks/express.ts";
import { rateLimit as onFastify } from "../../../adapters/frameworks/fastify.ts";
import type { Outcome } from "../../../adapters/http/http.ts";
import { rateLimit as onNode } from "../../../adapters/frameworks/node.ts";
import { apiLimiter } from "../../support/adapter_behaviour.ts";
import { rawRequest } from "../../support/raw_request.ts";

/** Options that mean the same in every adapter. */
interface Given {
  readonly limiter: ReturnType<typeof apiLimiter>;
  readonly key: () => string;
  readonly refund: "failed" | "successful" | ((outcome: Outcome) => boolean);
}

/** A server whose `/slow` waits before it answers. */
type Start = (
  options: Given,
  wait: (response: ServerResponse) => Promise<void>,
) => Promise<Server>;

const servers: Readonly<Record<string, Start>> = {
  async node(options, wait) {
    return await listening(createServer(
      onNode(options)(async (request, response) => {
        if (request.url === "/slow") await wait(response);
        response.end("hello");
      }),
    ));
  },
  async express(options, wait) {
    const app = express();
    app.use(onExpress(options));
    app.get("/slow", async (_request, response) => {
      await wait(response);
      response.send("hello");
    });
    app.get("/", (_request, response) => void response.send("hello"));
    return await listening(createServer(app));
  },
  async fastify(options, wait) {
    const app = Fastify({ forceCloseConnections: true });
    await app.register(onFastify(options));
    app.get("/slow", async (_request, reply) => {
      await wait(reply.raw);
      return "hello";
    });
    app.get("/", () => "hello");
    await app.listen({ port: 0, host: "127.0.0.1" });
    return app.server;
  },
};

function listening(server: Server): Promise<Server> {
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

for (const [name, start] of Object.entries(servers)) {
  describe(`a client of ${name} that hangs up before the answer`, () => {
    for (const refund of ["successful", "failed"] as const) {
      test(`gets nothing back by refund "${refund}"`, async () => {
        const limiter = apiLimiter();
        await hangUp(start, { limiter, key: () => "one", refund });
        assert.equal(limiter.peek("one", 0).remaining, 1);
      });
    }

    test("is told of to a function as 499, and others as they were answered", async () => {
      const limiter = apiLimiter();
      const seen: number[] = [];
      const refund = ({ status }: Outcome) => seen.push(status) > 0;
      await hangUp(start, { limiter, key: () => "one", refund });
      assert.deepEqual(seen, [499, 200]);
      assert.equal(limiter.peek("one", 0).remaining, 2);
    });
  });
}

/** Asks for `/slow` and hangs up; where it is a function that gives back, asks for `/` as one should. */
async function hangUp(start: Start, options: Given): Promise<void> {
  let socket: Socket | undefined;
  let end = () => {};
  const ended = new Promise<void>((resolve) => end = resolve);
  const server = await start(options, async (response) => {
    const closed = new Promise((resolve) => response.once("close", resolve));
    socket!.destroy();
    await closed;
    end();
  });
  const { port } = server.address() as AddressInfo;
  try {
    socket = connect({ port, host: "127.0.0.1" });
    socket.on("error", () => {});
    socket.write("GET /slow HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    await ended;
    if (typeof options.refund === "function") await rawRequest(port);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}
