/*
 * A server of the HTTP bench, which says hello: alone, with one or two limits of tidegate, and with
 * the limiter that people use with its framework. Every request is admitted, and keyed by the
 * client's address. "By hand" reads the address and writes two header fields, which any limiter must
 * do, and limits nothing. With `TIDEGATE_ROOT`, tidegate is that of another checkout.
 *
 *   node bench/peers/http_server.ts express tidegate     prints its port
 */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { pathToFileURL } from "node:url";

import { runtime } from "../measure.ts";
import { peer } from "./peer.ts";

/** The step before a server's answer. */
type Kind = "bare" | "by hand" | "tidegate" | "two limits" | "peer";

type FetchHandler = (
  request: Request,
  server: unknown,
) => Response | Promise<Response>;

const LIMIT = 1_000_000_000;
const PERIOD = 60_000;
const NAME = runtime().split(" ")[0]!;
const listen = { port: 0, hostname: "127.0.0.1" };
let count = 0;

/** The two fields; the second one is different each time. */
function writeFields(set: (name: string, value: string) => void): void {
  set("RateLimit-Policy", '"1000000000-in-60s";q=1000000000;w=60');
  set(
    "RateLimit",
    `"1000000000-in-60s";r=${999_999_999 - (count++ & 1023)};t=1`,
  );
}

const { TIDEGATE_ROOT } = process.env;
const root = TIDEGATE_ROOT === undefined
  ? new URL("../../", import.meta.url)
  : pathToFileURL(`${TIDEGATE_ROOT}/`);

/** A file of the checkout that is measured. */
async function load<Module>(path: string): Promise<Module> {
  return await import(new URL(path, root).href);
}

/** `limitHandler`, which earlier checkouts call `rateLimit`. */
function handlerLimiter<Limit>(
  module: { readonly limitHandler: Limit },
): Limit {
  return module.limitHandler ??
    (module as unknown as { readonly rateLimit: Limit }).rateLimit;
}

const { gcra, limiter, memoryStore } = await load<
  typeof import("../../mod.ts")
>("mod.ts");
const ALGORITHM = gcra({ limit: LIMIT, period: PERIOD, burst: LIMIT });

const isOurs = (kind: Kind) => kind === "tidegate" || kind === "two limits";

/** One limit for an address; or that and one for all, on one store. */
function ours(kind: Kind) {
  if (kind === "tidegate") return { limiter: limiter(ALGORITHM) };
  const store = memoryStore();
  return {
    limits: [
      { limiter: limiter(ALGORITHM, { store, prefix: "address" }) },
      {
        limiter: limiter(ALGORITHM, { store, prefix: "all" }),
        key: () => "all",
      },
    ],
  };
}

/** Each serves, and answers its port. */
const FRAMEWORKS: Readonly<Record<string, (kind: Kind) => Promise<number>>> = {
  async serve(kind) {
    if (NAME === "Node") return await serveNode(kind);
    const limitHandler = handlerLimiter(
      await load<typeof import("../../adapters/http/http.ts")>(
        "adapters/http/http.ts",
      ),
    );
    const hello: FetchHandler = () => new Response("hello");
    if (kind === "bare") return serveFetch(hello);
    if (isOurs(kind)) {
      return serveFetch(
        limitHandler(ours(kind))(() => new Response("hello")) as FetchHandler,
      );
    }
    return serveFetch((request, server) => {
      (server as { requestIP?: (request: Request) => unknown }).requestIP?.(
        request,
      );
      const response = new Response("hello");
      writeFields((name, value) => response.headers.set(name, value));
      return response;
    });
  },

  async express(kind) {
    const { default: express } = await import("express");
    const { rateLimit } = await load<
      typeof import("../../adapters/frameworks/express.ts")
    >(
      "adapters/frameworks/express.ts",
    );
    const theirs = await import("express-rate-limit");
    const app = express();
    if (isOurs(kind)) app.use(rateLimit(ours(kind)));
    if (kind === "peer") {
      app.use(theirs.rateLimit({
        windowMs: PERIOD,
        limit: LIMIT,
        standardHeaders: "draft-8",
        legacyHeaders: false,
      }));
    }
    if (kind === "by hand") {
      app.use((request, response, next) => {
        void request.ip;
        writeFields((name, value) => response.setHeader(name, value));
        next();
      });
    }
    app.get("/", (_request, response) => void response.end("hello"));
    return await listening(createServer(app));
  },

  async fastify(kind) {
    const { fastify } = await import("fastify");
    const { rateLimit } = await load<
      typeof import("../../adapters/frameworks/fastify.ts")
    >(
      "adapters/frameworks/fastify.ts",
    );
    const app = fastify();
    if (isOurs(kind)) await app.register(rateLimit(ours(kind)));
    if (kind === "peer") {
      const options = { max: LIMIT, timeWindow: PERIOD, enableDraftSpec: true };
      await app.register(peer("@fastify/rate-limit"), options);
    }
    if (kind === "by hand") {
      app.addHook("onRequest", (request, reply, done) => {
        void request.ip;
        writeFields((name, value) => void reply.header(name, value));
        done();
      });
    }
    app.get("/", (_request, reply) => void reply.send("hello"));
    return Number(
      new URL(await app.listen({ port: 0, host: "127.0.0.1" })).port,
    );
  },

  async koa(kind) {
    const { default: Koa } = await import("koa");
    const { rateLimit } = await load<
      typeof import("../../adapters/frameworks/koa.ts")
    >(
      "adapters/frameworks/koa.ts",
    );
    const app = new Koa();
    if (isOurs(kind)) app.use(rateLimit(ours(kind)) as never);
    if (kind === "peer") {
      app.use(
        peer("koa-ratelimit")({
          driver: "memory",
          db: new Map(),
          duration: PERIOD,
          max: LIMIT,
        }),
      );
    }
    if (kind === "by hand") {
      app.use((context, next) => {
        void context.ip;
        writeFields((name, value) => context.set(name, value));
        return next();
      });
    }
    app.use((context) => void (context.body = "hello"));
    return await listening(createServer(app.callback()));
  },

  async nestjs(kind) {
    const { Controller, Get, Module } = await import("@nestjs/common");
    const { APP_GUARD, NestFactory } = await import("@nestjs/core");
    const { rateLimitGuard } = await load<
      typeof import("../../adapters/frameworks/nestjs.ts")
    >(
      "adapters/frameworks/nestjs.ts",
    );
    const theirs = await import("@nestjs/throttler");
    class Hello {
      hello() {
        return "hello";
      }
    }
    Get()(
      Hello.prototype,
      "hello",
      Object.getOwnPropertyDescriptor(Hello.prototype, "hello")!,
    );
    Controller()(Hello);
    class App {}
    const isPeer = kind === "peer";
    Module({
      imports: isPeer ? [theirs.ThrottlerModule.forRoot([{ ttl: PERIOD, limit: LIMIT }])] : [],
      controllers: [Hello],
      providers: [
        ...(isPeer ? [{ provide: APP_GUARD, useClass: theirs.ThrottlerGuard }] : []),
        ...(isOurs(kind) ? [{ provide: APP_GUARD, useValue: rateLimitGuard(ours(kind)) }] : []),
      ],
    })(App);
    const app = await NestFactory.create(App, { logger: false });
    if (kind === "by hand") {
      app.use(
        (
          request: { ip?: string },
          response: ServerResponse,
          next: () => void,
        ) => {
          void request.ip;
          writeFields((name, value) => void response.setHeader(name, value));
          next();
        },
      );
    }
    await app.listen(0, "127.0.0.1");
    return Number(new URL(await app.getUrl()).port);
  },

  async hono(kind) {
    const { Hono } = await import("hono");
    const { rateLimit } = await load<
      typeof import("../../adapters/frameworks/hono.ts")
    >(
      "adapters/frameworks/hono.ts",
    );
    const { rateLimiter } = await import("hono-rate-limiter");
    const modules = {
      Bun: "hono/bun",
      Deno: "hono/deno",
      Node: "@hono/node-server/conninfo",
    };
    const { getConnInfo } = await import(modules[NAME as keyof typeof modules]);
    const app = new Hono();
    if (isOurs(kind)) app.use(rateLimit(ours(kind)));
    if (kind === "peer") {
      app.use(rateLimiter({
        limit: LIMIT,
        windowMs: PERIOD,
        standardHeaders: "draft-7",
        keyGenerator: (c) => getConnInfo(c).remote.address ?? "",
      }));
    }
    if (kind === "by hand") {
      app.use(async (c, next) => {
        getConnInfo(c);
        await next();
        writeFields((name, value) => c.res.headers.set(name, value));
      });
    }
    app.get("/", (c) => c.text("hello"));
    return await serveFetch(app.fetch as FetchHandler);
  },

  async elysia(kind) {
    const { Elysia } = await import("elysia");
    const { rateLimit } = await load<
      typeof import("../../adapters/frameworks/elysia.ts")
    >(
      "adapters/frameworks/elysia.ts",
    );
    const theirs = await import("elysia-rate-limit");
    const app = new Elysia();
    if (isOurs(kind)) app.use(rateLimit(ours(kind)));
    if (kind === "peer") {
      app.use(theirs.rateLimit({ max: LIMIT, duration: PERIOD }));
    }
    if (kind === "by hand") {
      app.onRequest(({ request, server, set }) => {
        server?.requestIP(request);
        writeFields((name, value) => set.headers[name] = value);
      });
    }
    return app.get("/", () => "hello").listen(listen).server!.port!;
  },

  /** The procedure is `hello`. */
  async trpc(kind) {
    const { initTRPC } = await import("@trpc/server");
    const { fetchRequestHandler } = await import("@trpc/server/adapters/fetch");
    const { rateLimit } = await load<
      typeof import("../../adapters/frameworks/trpc.ts")
    >(
      "adapters/frameworks/trpc.ts",
    );
    const t = initTRPC.context<{ readonly user: string }>().create();
    const procedure = isOurs(kind)
      ? t.procedure.use(
        rateLimit({ key: () => "127.0.0.1", ...ours(kind) } as never) as never,
      )
      : t.procedure;
    const router = t.router({ hello: procedure.query(() => "hello") });
    const createContext = () => ({ user: "ann" });
    return await serveFetch((req) =>
      fetchRequestHandler({ endpoint: "", req, router, createContext })
    );
  },

  async effect(kind) {
    const { Layer } = await import("effect");
    const { HttpRouter, HttpServer, HttpServerResponse } = await import(
      "effect/http"
    );
    const { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup } = await import(
      "effect/http-api"
    );
    const { Effect } = await import("effect");
    const { layerMemory, layerRateLimit, limit, RateLimit } = await load<
      typeof import("../../adapters/effect/effect.ts")
    >("adapters/effect/effect.ts");
    const bare = HttpApiGroup.make("hello").add(
      HttpApiEndpoint.get("root", "/"),
    );
    const group = isOurs(kind) ? bare.middleware(RateLimit) : bare;
    const Api = HttpApi.make("api").add(group as typeof bare);
    const limits = [{ limit: limit("address", ALGORITHM) }];
    const all = { limit: limit("all", ALGORITHM), key: () => "all" };
    const hello = HttpServerResponse.text("hello");
    const server = HttpApiBuilder.layer(Api).pipe(
      Layer.provide(HttpApiBuilder.group(
        Api,
        "hello",
        (handlers) => handlers.handleRaw("root", () => Effect.succeed(hello)),
      )),
      Layer.provide(layerRateLimit({
        address: () => "127.0.0.1",
        limits: kind === "two limits" ? [...limits, all] : limits,
      })),
      Layer.provide(layerMemory()),
      Layer.provide(HttpServer.layerServices),
    );
    const { handler } = HttpRouter.toWebHandler(server, {
      disableLogger: true,
    });
    return await serveFetch((request) => handler(request));
  },
};

/** The runtime's own server, without any framework. */
async function serveNode(kind: Kind): Promise<number> {
  const limitHandler = handlerLimiter(
    await load<typeof import("../../adapters/frameworks/node.ts")>(
      "adapters/frameworks/node.ts",
    ),
  );
  if (isOurs(kind)) {
    return await listening(
      createServer(
        limitHandler(ours(kind))((_, response) => void response.end("hello")),
      ),
    );
  }
  return await listening(createServer((request, response) => {
    if (kind === "by hand") {
      void request.socket.remoteAddress;
      writeFields((name, value) => response.setHeader(name, value));
    }
    response.end("hello");
  }));
}

/** Serves a function of `Request` and `Response`, in the way that suits the runtime best. */
async function serveFetch(fetch: FetchHandler): Promise<number> {
  const { Bun, Deno } = globalThis as unknown as {
    Bun?: { serve(options: object): { port: number } };
    Deno?: {
      serve(options: object, handler: FetchHandler): { addr: { port: number } };
    };
  };
  if (Bun !== undefined) return Bun.serve({ ...listen, fetch }).port;
  if (Deno !== undefined) {
    return Deno.serve({ ...listen, onListen() {} }, fetch).addr.port;
  }
  const { getRequestListener } = await import("@hono/node-server");
  return await listening(
    createServer(getRequestListener(fetch as never) as never),
  );
}

function listening(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(
      0,
      "127.0.0.1",
      () => resolve((server.address() as AddressInfo).port),
    );
  });
}

const [framework = "", ...kind] = process.argv.slice(2);
console.log(await FRAMEWORKS[framework]!(kind.join(" ") as Kind));
