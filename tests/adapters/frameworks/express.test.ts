import express from "express";
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { describe, test } from "node:test";

import { decisionOf, rateLimit } from "../../../adapters/frameworks/express.ts";
import { apiLimiter, describeAdapter } from "../../support/adapter_behaviour.ts";
import { rawRequest } from "../../support/raw_request.ts";
import { serveNode } from "../../support/serve_node.ts";

/** It brings no types; those of Express 5 serve here. */
const express4: typeof express = createRequire(import.meta.url)("express4");

/** Express prints the errors of handlers unless it is in this environment. */
function newApp(make = express) {
  return make().set("env", "test");
}

const versions: [name: string, make: typeof express][] = [
  ["tidegate/express with Express 5", express],
  ["tidegate/express with Express 4", express4],
];

versions.forEach(([name, make]) =>
  describeAdapter(name, {
    start(options, flow) {
      const app = newApp(make);
      if (options !== undefined) app.use(rateLimit(options));
      app.get("/", (_request, response) => void response.send("hello"));
      app.get("/text", (_request, response) => void response.send("hello"));
      app.get("/json", (_request, response) => void response.json({ a: 1 }));
      app.get("/image", (_request, response) => void response.type("png").send(Buffer.alloc(4)));
      app.get("/empty", (_request, response) => void response.sendStatus(204));
      app.get("/left", (_request, response) => {
        response.send(String(decisionOf(response)?.remaining));
      });
      app.get("/bad", (_request, response) => void response.status(400).send("bad"));
      app.get("/throw", () => {
        throw new Error("boom");
      });
      app.get("/stream", (_request, response) => {
        response.write("one");
        flow().then(() => response.end("two"));
      });
      return serveNode(app);
    },
  })
);

describe("tidegate/express", () => {
  test("takes the client's address as the app's `trust proxy` says", async () => {
    const app = newApp();
    app.set("trust proxy", "loopback");
    app.use(rateLimit({ limiter: apiLimiter() }));
    app.get("/", (_request, response) => void response.send("hello"));
    const server = await serveNode(app);
    try {
      for (const [client, status] of [[1, 200], [1, 200], [1, 429], [2, 200]] as const) {
        const lines = [`X-Forwarded-For: 192.0.2.${client}`];
        assert.equal((await rawRequest(server.port, { lines })).status, status);
      }
    } finally {
      await server.close();
    }
  });

  test("limits single routes, one limit before the other", async () => {
    const app = newApp();
    app.use(rateLimit({ limiter: apiLimiter() }));
    const login = rateLimit({
      limiter: apiLimiter(),
      key: (request: express.Request) => request.params["user"] as string,
    });
    app.get("/login/:user", login, (_request, response) => void response.send("hello"));
    const server = await serveNode(app);
    try {
      const { values } = await rawRequest(server.port, { path: "/login/ann" });
      assert.deepEqual(values("ratelimit"), ['"api";r=1;t=6']);
      assert.deepEqual(values("ratelimit-policy"), ['"api";q=10;w=60']);
    } finally {
      await server.close();
    }
  });
});
