import Koa from "koa";
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import { describe, test } from "node:test";

import { clientKey, rateLimit } from "../../../adapters/frameworks/koa.ts";
import { apiLimiter, describeAdapter } from "../../support/adapter_behaviour.ts";
import { using } from "../../support/adapter_subject.ts";
import type { AppHooks } from "../../support/adapter_subject.ts";
import { withLoginRules } from "../../support/login_rules.ts";
import { rawRequest } from "../../support/raw_request.ts";
import { serveNode } from "../../support/serve_node.ts";

const koa2: typeof Koa = createRequire(import.meta.url)("koa2");

/** Koa prints the errors of handlers unless it is silent. */
function newApp(Make: typeof Koa, proxy = false): Koa {
  return Object.assign(new Make(), { silent: true, proxy });
}

function routes({ flow, slow }: AppHooks): Koa.Middleware {
  const answers: Record<string, (context: Koa.Context) => unknown> = {
    "/": (context) => context.body = "hello",
    "/text": (context) => context.body = "hello",
    "/replaced": (context) => context.body = Readable.from(["hello"]),
    "/json": (context) => context.body = { a: 1 },
    "/image": (context) => {
      context.type = "png";
      context.body = Buffer.alloc(4);
    },
    "/empty": (context) => context.status = 204,
    "/left": (context) => context.body = String(context.state["rateLimit"]?.remaining),
    "/bad": (context) => context.throw(400, "bad"),
    "/throw": () => {
      throw new Error("boom");
    },
    "/stream": (context) => {
      context.body = Readable.from((async function* () {
        yield "one";
        await flow();
        yield "two";
      })());
    },
    "/slow": (context) =>
      new Promise<void>((resolve, reject) => {
        slow(
          (gone) => context.req.once("aborted", gone),
          (fails) => {
            if (fails) return reject(new Error("gone"));
            context.body = "late";
            resolve();
          },
        );
      }),
  };
  return async (context) => void await answers[context.path]?.(context);
}

for (const [name, Make] of [["Koa 3", Koa], ["Koa 2", koa2]] as const) {
  describeAdapter(`tidegate/koa with ${name}`, {
    makers: [rateLimit],
    keepsDecision: true,
    start(limits, hooks) {
      const app = newApp(Make);
      app.use(async (context, next) => {
        await next();
        if (context.path !== "/replaced") return;
        context.status = 418;
        context.body = "replaced";
      });
      for (const options of limits) app.use(rateLimit(options));
      app.use(routes(hooks));
      return serveNode(app.callback());
    },
    startScoped(options) {
      const app = newApp(Make);
      const limited = rateLimit(options);
      app.use((context, next) => context.path.startsWith("/in") ? limited(context, next) : next());
      app.use((context) => {
        if (context.path.endsWith("/throw")) throw new Error("boom");
        context.body = "hello";
      });
      return serveNode(app.callback());
    },
    startTrusting(options) {
      const app = newApp(Make, true);
      app.use(rateLimit(options));
      app.use((context) => void (context.body = "hello"));
      return serveNode(app.callback());
    },
    startAnswering(options, { answered, went }) {
      const app = newApp(Make);
      app.use(async (context, next) => {
        const later = next();
        context.respond = false;
        context.res.writeHead(503).end("too late");
        answered();
        await later.catch(() => went("error"));
      });
      app.use(rateLimit(options));
      app.use(() => went("handler"));
      return serveNode(app.callback());
    },
  });
}

describe("tidegate/koa", () => {
  test("limits single routes, by a key of its own", async () => {
    const app = newApp(Koa);
    const keyOf = clientKey<Koa.Context>();
    app.use(rateLimit<Koa.Context>({
      limiter: apiLimiter(),
      key: (context) => `${keyOf(context)} ${context.path}`,
    }));
    app.use((context) => void (context.body = "hello"));
    await using(await serveNode(app.callback()), async (port) => {
      const { values } = await rawRequest(port, { path: "/one" });
      assert.deepEqual(values("ratelimit-policy"), ['"api";q=10;w=60']);
    });
  });
});

test("tidegate/koa limits a route of rules by each path that leads to it", async () => {
  await withLoginRules(async (rules) => {
    const app = new Koa();
    app.use(async (context, next) => {
      context.path = context.path.replace("/v1", "/api");
      await next();
    });
    app.use(rateLimit({ rules }));
    app.use((context) => void (context.body = "in"));
    await using(await serveNode(app.callback()), async (port) => {
      const asked = [["/v1/login", 200], ["/v1/login", 429], ["/API/Login", 429]] as const;
      for (const [path, status] of asked) {
        assert.equal((await rawRequest(port, { path })).status, status, path);
      }
    });
  });
});
