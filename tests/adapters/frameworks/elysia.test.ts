import { Elysia, t } from "elysia";
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { rateLimit } from "../../../adapters/frameworks/elysia.ts";
import { concurrency, gcra, hold, limiter } from "../../../mod.ts";
import { apiLimiter, describeAdapter } from "../../support/adapter_behaviour.ts";
import { until, using } from "../../support/adapter_subject.ts";
import { type RawAnswer, rawRequest } from "../../support/raw_request.ts";
import { runtime } from "../../support/runtime.ts";
import { serveFetch, type TestServer } from "../../support/serve_fetch.ts";
import { slowResponse, upgrade } from "../../support/fetch_routes.ts";
import { twoParts } from "../../support/two_parts.ts";

/** Elysia listens on Bun alone; elsewhere it is a handler in the style of fetch. */
async function serveApp(app: Elysia): Promise<TestServer> {
  if (runtime() !== "bun") return await serveFetch(app.handle);
  app.listen({ port: 0, hostname: "127.0.0.1" });
  return {
    port: app.server!.port!,
    close: async () => void await app.stop(true),
  };
}

function typeOf(values: RawAnswer["values"]): string | undefined {
  const type = values("content-type").join();
  return runtime() === "bun" ? type : type.split(";")[0];
}

/** Uses the servers of apps, whatever their types have become. */
async function usingApps(
  apps: readonly object[],
  use: (...ports: number[]) => Promise<void>,
): Promise<void> {
  const [app, ...others] = apps;
  if (app === undefined) return await use();
  await using(
    await serveApp(app as Elysia),
    (port) => usingApps(others, (...ports) => use(port, ...ports)),
  );
}

const elsewhere = runtime() === "bun" ? {} : { address: () => "127.0.0.1" };

for (const aot of [true, false]) {
  describeAdapter(aot ? "tidegate/elysia" : "tidegate/elysia without code made ahead", {
    options: elsewhere,
    // Elsewhere than on Bun.
    ignoresCharset: runtime() !== "bun",
    hidesResponses: true,
    makers: [rateLimit],
    keepsDecision: true,
    releasesEarly: !aot,
    upgrades: runtime() !== "node",
    start(limits, { flow, slow }) {
      const app = new Elysia({ aot });
      for (const options of limits) app.use(rateLimit(options));
      if (runtime() === "bun") {
        app.ws("/socket", { message: (socket, message) => void socket.send(message) });
      } else {
        app.get("/socket", ({ request }) => upgrade(request, undefined));
      }
      app.get("/slow", ({ request }) => slowResponse(request, slow));
      app.get("/", "hello")
        .get("/replaced", () => "hello", {
          afterHandle: () => new Response("replaced", { status: 418 }),
        })
        .get("/text", () => new Response("hello"))
        .get("/json", () => ({ a: 1 }))
        .get(
          "/image",
          () => new Response(new Uint8Array(4), { headers: { "content-type": "image/png" } }),
        )
        .get("/empty", ({ status }) => status(204))
        .get(
          "/left",
          (context) =>
            String((context as { rateLimit?: { remaining: number } }).rateLimit?.remaining),
        )
        .get("/bad", ({ status }) => status(400, "bad"))
        .get("/throw", () => {
          throw new Error("boom");
        })
        .get(
          "/stream",
          () => new Response(twoParts(flow), { headers: { "content-type": "text/plain" } }),
        );
      return serveApp(app as unknown as Elysia);
    },
  });
}

describe("tidegate/elysia", () => {
  test("leaves answers of other kinds as they are", async () => {
    const routes = (app: Elysia) =>
      app.get("/", "hello")
        .get("/text", () => "hello")
        .get("/early", () => "late", { beforeHandle: () => "early" })
        .get("/away", ({ redirect }) => redirect("/text"))
        .get("/own", () => {
          throw new Error("boom");
        }, { error: () => "it failed" });
    const options = { limiter: apiLimiter(), cost: 0, key: () => "one" };
    const limited = routes(new Elysia().use(rateLimit(options)) as unknown as Elysia);
    await usingApps([routes(new Elysia()), limited], async (bare, port) => {
      for (const path of ["/", "/text", "/early", "/away", "/own", "/missing"]) {
        const expected = await rawRequest(bare, { path });
        const { status, values, body } = await rawRequest(port, { path });
        assert.equal(status, expected.status, path);
        assert.equal(body, expected.body, path);
        assert.equal(typeOf(values), typeOf(expected.values), path);
        assert.deepEqual(values("location"), expected.values("location"), path);
        assert.deepEqual(values("ratelimit"), ['"api";r=2'], path);
      }
    });
  });

  test("types the decision on the context, and lets one limit stand before the other", async () => {
    const login = gcra({ name: "login", limit: 1, period: "1m", burst: 1 });
    const key = () => "one";
    const app = new Elysia()
      .use(rateLimit({ limiter: apiLimiter(), key }))
      .use(rateLimit({ limiter: limiter(login, { clock: () => 0 }), key }))
      .get("/", ({ rateLimit }) => `${rateLimit?.remaining} left`);
    await usingApps([app], async (port) => {
      const answer = await rawRequest(port);
      assert.equal(answer.body, "0 left");
      assert.deepEqual(answer.values("ratelimit"), ['"api";r=1;t=6, "login";r=0;t=60']);
      const refused = await rawRequest(port);
      assert.equal(refused.status, 429);
      assert.deepEqual(refused.values("ratelimit"), ['"api";r=0;t=6, "login";r=0;t=60']);
    });
  });

  test("keeps the fields that other plugins set, on answers of every kind", async () => {
    const app = new Elysia()
      .onRequest(({ set }) => {
        set.headers["access-control-expose-headers"] = "X-Other";
        set.headers["ratelimit-policy"] = '"outer";q=9';
        set.headers["x-ratelimit-limit"] = "999";
        set.headers["x-other"] = "1";
      })
      .use(rateLimit({
        limiter: apiLimiter(),
        key: (request) => request.url,
        cost: (request) => request.url.endsWith("/refused") ? 3 : 1,
        headers: ["draft-11", "legacy"],
        exposeHeaders: true,
      }))
      .get("/made", () => "hello")
      .get("/own", () => new Response("hello"))
      .get("/throw", () => {
        throw new Error("boom");
      });
    await usingApps([app], async (port) => {
      for (const path of ["/made", "/own", "/throw", "/refused"]) {
        const { values } = await rawRequest(port, { path });
        const left = path === "/refused" ? "r=2" : "r=1;t=6";
        assert.deepEqual(values("ratelimit-policy"), ['"outer";q=9, "api";q=10;w=60'], path);
        assert.deepEqual(values("ratelimit"), [`"api";${left}`], path);
        assert.deepEqual(values("x-ratelimit-limit"), ["10"], path);
        assert.deepEqual(values("x-other"), ["1"], path);
        assert.match(values("access-control-expose-headers").join(), /^X-Other, RateLimit-/, path);
      }
    });
  });

  test("calls the first limit's rule of refunds when the second one refuses", async () => {
    const [outer, inner] = [apiLimiter(), apiLimiter()];
    const key = () => "one";
    const app = new Elysia()
      .use(rateLimit({ limiter: outer, key, refund: "failed" }))
      .use(rateLimit({ limiter: inner, key, cost: 3 }))
      .get("/", () => "hello");
    await usingApps([app], async (port) => {
      assert.equal((await rawRequest(port)).status, 429);
      assert.equal(outer.peek("one", 0).remaining, 2);
    });
  });

  for (const aot of [true, false]) {
    const kind = aot ? "" : " without code made ahead";

    test(`limits the routes of its scope and settles all that it charges${kind}`, async () => {
      const outcomes: number[] = [];
      const permits = limiter(concurrency({ limit: 3, ttl: "5m" }));
      const plugin = rateLimit({
        limits: [{ limiter: permits }, {
          limiter: limiter(gcra({ limit: 100, period: "1h", burst: 100 }), {
            store: permits.store,
            prefix: "rate",
          }),
        }],
        key: () => "one",
        refund: ({ status }) => outcomes.push(status) < 0,
      });
      const fail = () => {
        throw new Error("boom");
      };
      const nested = new Elysia({ aot, prefix: "/nested" })
        .get("/before", "before")
        .use(plugin)
        .get("/in", () => "in")
        .get("/fail", fail);
      const app = new Elysia({ aot })
        .onRequest(({ request }) =>
          request.method === "OPTIONS" ? new Response("preflight") : undefined
        )
        .get("/before", "before")
        .group("/group", (group) =>
          group.use(plugin)
            .onError(() => {})
            .get("/in", () => "in")
            .get("/static", "static")
            .get("/replaced", () => "in", { mapResponse: () => new Response("replaced") })
            .get("/late", async () => await "late")
            .get("/exchanged", () => new Response("in", { headers: { "content-type": "a/b" } }), {
              mapResponse: () => new Response("exchanged"),
            })
            .get("/early", fail, { beforeHandle: () => "early" })
            .get("/invalid", () => "in", { query: t.Object({ count: t.Number() }) })
            .post("/body", ({ body }) => body)
            .get("/fail", fail))
        .guard({}, (guard) =>
          guard.use(plugin)
            .mapDerive(() => ({ count: 1 }))
            .get("/guarded", () => "in")
            .get("/guarded/fail", fail))
        .use(nested)
        .onError(async () => await undefined)
        .mount("/mounted", () => new Response("mounted"))
        .get("/after", "after");
      const broken = { method: "POST", lines: ["Content-Type: application/json"], body: "{" };
      await usingApps([app], async (port) => {
        const unlimited = ["/before", "/nested/before", "/after", "/group/none", "/nested/none"];
        for (const path of [...unlimited, "/none", "/mounted/any"]) {
          const answer = await rawRequest(port, { path });
          assert.deepEqual(answer.values("ratelimit"), [], path);
        }
        assert.deepEqual(outcomes, []);
        const limited: [path: string, status: number, more?: object][] = [
          ["/group/in", 200],
          ["/group/static", 200],
          ["/group/replaced", 200],
          ["/group/late", 200],
          ["/group/exchanged", 200],
          ["/group/early", 200],
          ["/group/invalid", 422],
          ["/group/fail", 500],
          ["/guarded", 200],
          ["/guarded/fail", 500],
          ["/nested/in", 200],
          ["/nested/fail", 500],
        ];
        // Without code made ahead, Elysia does not answer HEAD, and calls no hook of a group when a
        // body cannot be parsed.
        if (aot) {
          limited.push(["/group/in", 200, { method: "HEAD" }], ["/group/body", 400, broken]);
        }
        for (const [index, [path, status, more]] of limited.entries()) {
          const answer = await rawRequest(port, { path, ...more });
          assert.equal(answer.status, status, path);
          await until(() => outcomes.length > index);
          assert.deepEqual([outcomes.at(-1), permits.peek("one", 0).remaining], [status, 3], path);
          if (!path.endsWith("/fail") || aot) {
            assert.equal(answer.values("ratelimit").length, 1, path);
          }
        }
        const held = [1, 2, 3].map(() => hold(permits, "one").permit!);
        for (const path of ["/group/in", "/guarded", "/nested/in"]) {
          assert.equal((await rawRequest(port, { path })).status, 429, path);
        }
        for (const path of unlimited.slice(0, 3)) {
          assert.equal((await rawRequest(port, { path })).status, 200, path);
        }
        assert.equal(
          (await rawRequest(port, { path: "/group/in", method: "OPTIONS" })).status,
          200,
        );
        for (const { release } of held) release();
      });
    });

    test(`limits the whole of an app from its own place on${kind}`, async () => {
      const permits = limiter(concurrency({ limit: 1, ttl: "5m" }));
      const app = new Elysia({ aot })
        .get("/before", "before")
        .use(rateLimit({ limiter: permits, key: () => "one" }))
        .get("/after", "after")
        .group("/group", (group) => group.get("/in", () => "in"))
        .use(new Elysia({ aot }).get("/nested", () => "in"))
        .mount("/mounted", () => new Response("mounted"));
      await usingApps([app], async (port) => {
        const isFree = () => permits.peek("one", 0).remaining === 1;
        const paths = ["/after", "/group/in", "/nested", "/none", ...(aot ? ["/mounted/any"] : [])];
        for (const path of paths) {
          const answer = await rawRequest(port, { path });
          assert.deepEqual(answer.values("ratelimit"), ['"1-at-once";r=0;t=300'], path);
          await until(isFree);
        }
        const { permit } = hold(permits, "one");
        for (const path of paths) {
          assert.equal((await rawRequest(port, { path })).status, 429, path);
        }
        assert.equal((await rawRequest(port, { path: "/before" })).status, 200);
        permit!.release();
      });
    });

    test(`reaches further by Elysia's own as()${kind}`, async () => {
      const scoped = new Elysia({ aot }).use(rateLimit({ limiter: apiLimiter(), key: () => "a" }))
        .as("scoped");
      const whole = new Elysia({ aot }).use(rateLimit({ limiter: apiLimiter(), key: () => "b" }))
        .as("global");
      const inner = new Elysia({ aot }).use(scoped).get("/inner", () => "in");
      const app = new Elysia({ aot }).use(inner).get("/outer", () => "out")
        .use(new Elysia({ aot }).use(whole)).get("/late", () => "late");
      await usingApps([app], async (port) => {
        for (const [path, fields] of [["/inner", 1], ["/outer", 0], ["/late", 1]] as const) {
          assert.equal((await rawRequest(port, { path })).values("ratelimit").length, fields, path);
        }
      });
    });
  }
});
