import { type Context, Hono } from "hono";
import { timeout } from "hono/timeout";
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import {
  type HonoContext,
  rateLimit,
  type RateLimitVariables,
} from "../../../adapters/frameworks/hono.ts";
import type { RateLimitOptions } from "../../../adapters/http/http.ts";
import { gcra, limiter } from "../../../mod.ts";
import { apiLimiter, describeAdapter } from "../../support/adapter_behaviour.ts";
import { oneAtOnce } from "../../support/adapter_permits.ts";
import { until, using } from "../../support/adapter_subject.ts";
import { rawRequest } from "../../support/raw_request.ts";
import { withLoginRules } from "../../support/login_rules.ts";
import { runtime } from "../../support/runtime.ts";
import { serveFetch } from "../../support/serve_fetch.ts";
import { echo, slowResponse, upgrade } from "../../support/fetch_routes.ts";
import { twoParts } from "../../support/two_parts.ts";

describeAdapter("tidegate/hono", {
  makers: [rateLimit],
  keepsDecision: true,
  upgrades: runtime() !== "node",
  start(limits, { flow, slow }) {
    const app = new Hono<{ Variables: RateLimitVariables }>();
    app.use("/replaced", async (c, next) => {
      await next();
      c.res = new Response("replaced", { status: 418 });
    });
    for (const options of limits) app.use(rateLimit(options));
    app.get("/replaced", (c) => c.text("hello"));
    app.get("/slow", (c) => slowResponse(c.req.raw, slow));
    // As hono/bun does it: the server has answered already.
    app.get("/socket", (c) => upgrade(c.req.raw, c.env) ?? new Response(null));
    app.onError((_error, c) => c.text("it failed", 500));
    app.get("/", (c) => c.text("hello"));
    app.get("/text", () => new Response("hello"));
    app.get("/json", (c) => c.json({ a: 1 }));
    app.get("/image", (c) => c.body(new Uint8Array(4), 200, { "Content-Type": "image/png" }));
    app.get("/empty", (c) => c.body(null, 204));
    app.get("/left", (c) => c.text(String(c.get("rateLimit")?.remaining)));
    app.get("/bad", (c) => c.text("bad", 400));
    app.get("/throw", () => {
      throw new Error("boom");
    });
    app.get("/stream", (c) => c.body(twoParts(flow), 200, { "content-type": "text/plain" }));
    return serveFetch(app.fetch, echo);
  },
  startScoped(options) {
    const app = new Hono();
    app.use("/in/*", rateLimit(options));
    app.get("/:place/text", (c) => c.text("hello"));
    app.get("/:place/throw", () => {
      throw new Error("boom");
    });
    app.onError((_error, c) => c.text("it failed", 500));
    return serveFetch(app.fetch);
  },
});

describe("tidegate/hono", () => {
  test("limits single routes, one limit before the other", async () => {
    const app = new Hono();
    const login = gcra({ name: "login", limit: 1, period: "1m", burst: 1 });
    app.use(rateLimit({ limiter: apiLimiter() }));
    app.get(
      "/limited",
      rateLimit({ limiter: limiter(login, { clock: () => 0 }), exposeHeaders: true }),
      (c) => c.text("hello", 200, { "Access-Control-Expose-Headers": "X-Other" }),
    );
    await using(await serveFetch(app.fetch), async (port) => {
      const { values } = await rawRequest(port, { path: "/limited" });
      assert.deepEqual(values("ratelimit"), ['"login";r=0;t=60, "api";r=1;t=6']);
      assert.deepEqual(values("access-control-expose-headers"), [
        "X-Other, RateLimit-Policy, RateLimit",
      ]);
    });
  });

  test("gives the options' functions the context, typed by inference", async () => {
    const app = new Hono<{ Variables: RateLimitVariables & { user: string } }>();
    app.use(async (c, next) => {
      c.set("user", "one");
      await next();
    });
    const skip: RateLimitOptions<HonoContext>["skip"] = ({ req }) =>
      req.method === "OPTIONS" || req.path === "/free";
    app.use(rateLimit({
      limiter: apiLimiter(),
      key: (c) => `${c.get("user")} ${c.req.header("x-part")}`,
      skip,
      onDecision: (_decision, _context, key) => keys.push(key),
    }));
    app.get("*", (c) => c.text("hello"));
    const keys: string[] = [];
    await app.request("/", { headers: { "X-Part": "two" } });
    await app.request("/free");
    assert.deepEqual(keys, ["one two"]);
  });

  test("writes the limit on a response that was fetched, whose fields cannot be set", async () => {
    const origin = await serveFetch(() =>
      new Response("<p>hello</p>", {
        headers: {
          "content-type": "text/html",
          "x-other": "1",
          "ratelimit-policy": '"origin";q=9',
          ratelimit: '"origin";r=9',
          "x-ratelimit-limit": "999",
          connection: "close",
        },
      })
    );
    const app = new Hono();
    app.use(rateLimit({ limiter: apiLimiter(), headers: ["draft-11", "legacy"] }));
    app.get("/", () => fetch(`http://127.0.0.1:${origin.port}/`));
    await using(await serveFetch(app.fetch), async (port) => {
      const { values, body } = await rawRequest(port);
      assert.equal(body, "<p>hello</p>");
      assert.deepEqual(values("content-type"), ["text/html"]);
      assert.deepEqual(values("x-other"), ["1"]);
      assert.deepEqual(values("ratelimit"), ['"origin";r=9, "api";r=1;t=6']);
      assert.deepEqual(values("x-ratelimit-limit"), ["10"]);
    }).finally(origin.close);
  });

  test("ends the verdict about a request that another middleware answered or replaced", async () => {
    const ended: number[] = [];
    const { jobs, isFree } = oneAtOnce();
    const api = limiter(gcra({ limit: 100, period: "1h", burst: 100 }), {
      store: jobs.store,
      prefix: "api",
    });
    const limit = rateLimit({
      limits: [{ limiter: jobs }, { limiter: api }],
      key: () => "one",
      refund: ({ status }) => ended.push(status) < 0,
    });
    const late = async (c: Context) => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return c.text("late");
    };
    const app = new Hono();
    app.use("/timeout", timeout(1), limit);
    app.use("/inside", limit, timeout(1));
    app.use("/replaced", async (c, next) => {
      await next();
      c.res = new Response("replaced", { status: 418 });
    }, limit);
    app.use("/read", limit, async (c, next) => {
      await next();
      await c.res.text();
    });
    app.get("/timeout", late);
    app.get("/inside", late);
    app.get("/replaced", (c) => c.text("hello"));
    app.get("/read", (c) => c.body(null, 204));
    await using(await serveFetch(app.fetch), async (port) => {
      const statuses = { "/timeout": 504, "/inside": 504, "/replaced": 418, "/read": 204 };
      for (const [index, [path, status]] of Object.entries(statuses).entries()) {
        assert.equal((await rawRequest(port, { path })).status, status, path);
        await until(() => ended.length > index && isFree());
        assert.equal(ended.length, index + 1, path);
      }
    });
  });
});

test("tidegate/hono limits a route of rules by the path that the app reads", async () => {
  await withLoginRules(async (rules) => {
    const app = new Hono({
      getPath: ({ url }) => new URL(url).pathname.toLowerCase().replace("/v1", "/api"),
    });
    app.use(rateLimit({ rules, unknownAddress: "admit" }));
    app.get("/api/login", (c) => c.text("in"));
    const asked = [["/v1/login", 200], ["/API/login", 429], ["/V1/LOGIN", 429]] as const;
    for (const [path, status] of asked) assert.equal((await app.request(path)).status, status);
  });
});
