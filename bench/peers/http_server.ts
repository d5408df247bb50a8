/*
 * A server of the HTTP bench, which says hello: alone, with tidegate, and with the limiter that
 * people use with its framework. Every request is admitted, and keyed by the client's address. "By
 * hand" reads the address and writes two header fields, which any limiter must do, and limits
 * nothing.
 *
 *   node bench/peers/http_server.ts express tidegate     prints its port
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";

import { gcra, limiter } from "../../mod.ts";
import { runtime } from "../measure.ts";
import { peer } from "./peer.ts";

/** The step before a server's answer. */
type Kind = "bare" | "by hand" | "tidegate" | "peer";

type FetchHandler = (request: Request, server: unknown) => Response | Promise<Response>;

const LIMIT = 1_000_000_000;
const PERIOD = 60_000;
const NAME = runtime().split(" ")[0]!;
const listen = { port: 0, hostname: "127.0.0.1" };
let count = 0;

/** The two fields; the second one is different each time. */
function writeFields(set: (name: string, value: string) => void): void {
  set("RateLimit-Policy", '"1000000000-in-60s";q=1000000000;w=60');
  set("RateLimit", `"1000000000-in-60s";r=${999_999_999 - (count++ & 1023)};t=1`);
}

const ours = () => ({ limiter: limiter(gcra({ limit: LIMIT, period: PERIOD, burst: LIMIT })) });

/** Each serves, and answers its port. */
const FRAMEWORKS: Readonly<Record<string, (kind: Kind) => Promise<number>>> = {
  async serve(kind) {
    if (NAME === "Node") return await serveNode(kind);
    const { limitHandler } = await import("../../adapters/http/http.ts");
    const hello: FetchHandler = () => new Response("hello");
    if (kind === "bare") return serveFetch(hello);
    if (kind === "tidegate") {
      return serveFetch(limitHandler(ours())(() => new Response("hello")) as FetchHandler);
    }
    return serveFetch((request, server) => {
      (server as { requestIP?: (request: Request) => unknown }).requestIP?.(request);
      const response = new Response("hello");
      writeFields((name, value) => response.headers.set(name, value));
      return response;
    });
  },

  async express(kind) {
    const { default: express } = await import("express");
    const { rateLimit } = await import("../../adapters/frameworks/express.ts");
    const theirs = await import("express-rate-limit");
    const app = express();
    if (kind === "tidegate") app.use(rateLimit(ours()));
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
    const { rateLimit } = await import("../../adapters/frameworks/fastify.ts");
    const app = fastify();
    if (kind === "tidegate") await app.register(rateLimit(ours()));
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
    return Number(new URL(await app.listen({ port: 0, host: "127.0.0.1" })).port);
  },

  async hono(kind) {
    const { Hono } = await import("hono");
    const { rateLimit } = await import("../../adapters/frameworks/hono.ts");
    const { rateLimiter } = await import("hono-rate-limiter");
    const modules = { Bun: "hono/bun", Deno: "hono/deno", Node: "@hono/node-server/conninfo" };
    const { getConnInfo } = await import(modules[NAME as keyof typeof modules]);
    const app = new Hono();
    if (kind === "tidegate") app.use(rateLimit(ours()));
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
    const { rateLimit } = await import("../../adapters/frameworks/elysia.ts");
    const theirs = await import("elysia-rate-limit");
    const app = new Elysia();
    if (kind === "tidegate") app.use(rateLimit(ours()));
    if (kind === "peer") app.use(theirs.rateLimit({ max: LIMIT, duration: PERIOD }));
    if (kind === "by hand") {
      app.onRequest(({ request, server, set }) => {
        server?.requestIP(request);
        writeFields((name, value) => set.headers[name] = value);
      });
    }
    return app.get("/", () => "hello").listen(listen).server!.port!;
  },
};

/** The runtime's own server, without any framework. */
async function serveNode(kind: Kind): Promise<number> {
  const { limitHandler } = await import("../../adapters/frameworks/node.ts");
  if (kind === "tidegate") {
    return await listening(
      createServer(limitHandler(ours())((_, response) => void response.end("hello"))),
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
    Deno?: { serve(options: object, handler: FetchHandler): { addr: { port: number } } };
  };
  if (Bun !== undefined) return Bun.serve({ ...listen, fetch }).port;
  if (Deno !== undefined) return Deno.serve({ ...listen, onListen() {} }, fetch).addr.port;
  const { getRequestListener } = await import("@hono/node-server");
  return await listening(createServer(getRequestListener(fetch as never) as never));
}

function listening(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

const [framework = "", ...kind] = process.argv.slice(2);
console.log(await FRAMEWORKS[framework]!(kind.join(" ") as Kind));
