import express, { type ErrorRequestHandler, type RequestHandler } from "express";
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { describe, test } from "node:test";

import { decisionOf, rateLimit } from "../../../adapters/frameworks/express.ts";
import { apiLimiter, describeAdapter } from "../../support/adapter_behaviour.ts";
import { statuses, using } from "../../support/adapter_subject.ts";
import { withLoginRules } from "../../support/login_rules.ts";
import { serveNode } from "../../support/serve_node.ts";

/** Express 4 has no types. The types of Express 5 serve here. */
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
    makers: [rateLimit],
    keepsDecision: true,
    start(limits, { flow, slow }) {
      const app = newApp(make);
      app.use("/replaced", (_request, response, next) => {
        setTimeout(() => response.status(418).send("replaced"), 5);
        next();
      });
      for (const options of limits) app.use(rateLimit(options));
      app.get("/replaced", () => {});
      app.get("/slow", (request, response, next) => {
        slow(
          (gone) => request.once("aborted", gone),
          (fails) => fails ? next(new Error("gone")) : void response.send("late"),
        );
      });
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
    startScoped(options) {
      const app = newApp(make);
      const router = () =>
        make.Router()
          .get("/text", (_request, response) => void response.send("hello"))
          .get("/throw", () => {
            throw new Error("boom");
          });
      app.use("/out", router());
      app.use("/in", make.Router().use(rateLimit(options), router()));
      return serveNode(app);
    },
    startTrusting(options) {
      const app = newApp(make);
      app.set("trust proxy", "loopback");
      app.use(rateLimit(options));
      app.get("/", (_request, response) => void response.send("hello"));
      return serveNode(app);
    },
    startAnswering(options, { answered, went }) {
      const app = newApp(make);
      const answer: RequestHandler = (_request, response, next) => {
        next();
        response.status(503).send("too late");
        answered();
      };
      const failed: ErrorRequestHandler = (_error, _request, _response, _next) => went("error");
      app.use(answer, rateLimit(options));
      app.get("/", () => went("handler"));
      app.use(failed);
      return serveNode(app);
    },
  })
);

describe("tidegate/express", () => {
  test("warns once if the app trusts the addresses that clients claim", async () => {
    const app = newApp();
    app.set("trust proxy", true);
    app.use(rateLimit({ limiter: apiLimiter() }));
    app.get("/text", (_request, response) => void response.send("hello"));
    const said: string[] = [];
    const { warn } = console;
    console.warn = (text: string) => void said.push(text);
    try {
      await using(await serveNode(app), async (port) => {
        const lines = ["X-Forwarded-For: 192.0.2.7"];
        assert.deepEqual(await statuses(port, 3, "/text", lines), [200, 200, 429]);
      });
    } finally {
      console.warn = warn;
    }
    assert.equal(said.length, 1);
    assert.match(said[0]!, /^Express's setting `trust proxy` is true, so clients can choose/);
  });

  for (const [name, make] of versions) {
    test(`limits a route of rules by each path that leads to it: ${name}`, async () => {
      await withLoginRules(async (rules) => {
        const app = newApp(make);
        app.use((request, _response, next) => {
          request.url = request.url.replace("/v1", "/api");
          next();
        });
        const router = make.Router();
        router.use(rateLimit({ rules }));
        router.get("/login", (_request, response) => void response.send("in"));
        app.use("/api", router);
        await using(await serveNode(app), async (port) => {
          assert.deepEqual(await statuses(port, 1, "/v1/login"), [200]);
          for (const path of ["/v1/login", "/api/login", "/API/LOGIN", "/api/Login"]) {
            assert.deepEqual(await statuses(port, 1, path), [429], path);
          }
        });
      });
      await withLoginRules(async (rules) => {
        const app = newApp(make).enable("case sensitive routing");
        app.use(rateLimit({ rules }));
        app.get("/api/:name", (_request, response) => void response.send("in"));
        await using(await serveNode(app), async (port) => {
          assert.deepEqual(await statuses(port, 2, "/api/login"), [200, 429]);
          assert.deepEqual(await statuses(port, 2, "/api/LOGIN"), [200, 200]);
        });
      });
    });
  }
});
