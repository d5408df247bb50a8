/*
 * The servers of the HTTP bench: each says hello, alone, with tidegate, and with the limiter that
 * people use with its framework. Every request is admitted and keyed by the client's address.
 * "By hand" asks for the address and writes two header fields, as any limiter must, and limits
 * nothing. "Silent" limits by a key at hand and sends no fields.
 *
 *   bun bench/http_server.ts <name>     prints its port
 */
import { Elysia } from "elysia";
import { rateLimit as elysiaRateLimit } from "elysia-rate-limit";
import { Hono } from "hono";
import { getConnInfo } from "hono/bun";
import { rateLimiter } from "hono-rate-limiter";
import process from "node:process";

import { rateLimit as limitElysia } from "../adapters/frameworks/elysia.ts";
import { rateLimit as limitHono } from "../adapters/frameworks/hono.ts";
import { rateLimit } from "../adapters/http/http.ts";
import { gcra, limiter } from "../mod.ts";

const LIMIT = 1_000_000_000;
const PERIOD = 60_000;
const listen = { port: 0, hostname: "127.0.0.1" };

function ours() {
  return { limiter: limiter(gcra({ limit: LIMIT, period: PERIOD })) };
}

function serve(fetch: (request: Request, server: Bun.Server<undefined>) => unknown): number {
  return Bun.serve({ ...listen, fetch: fetch as () => Response }).port!;
}

let count = 0;

/** The two fields, whose second is another one each time. */
function writeFields(set: (name: string, value: string) => void): void {
  set("RateLimit-Policy", '"1000000000-in-60s";q=1000000000;w=60');
  set("RateLimit", `"1000000000-in-60s";r=${999_999_999 - (count++ & 1023)};t=1`);
}

/** Listens, and answers the port. */
const servers: Record<string, () => number> = {
  bun: () => serve(() => new Response("hello")),
  "bun by hand": () =>
    serve((request, server) => {
      server.requestIP(request);
      const response = new Response("hello");
      writeFields((name, value) => response.headers.set(name, value));
      return response;
    }),
  "bun tidegate silent": () =>
    serve(rateLimit({ ...ours(), headers: false, key: () => "one" })(() => new Response("hello"))),
  "bun tidegate": () => serve(rateLimit(ours())(() => new Response("hello"))),
  hono: () => serve(new Hono().get("/", (c) => c.text("hello")).fetch),
  "hono by hand": () =>
    serve(
      new Hono().use(async (c, next) => {
        getConnInfo(c);
        await next();
        writeFields((name, value) => c.res.headers.set(name, value));
      }).get("/", (c) => c.text("hello")).fetch,
    ),
  "hono tidegate": () =>
    serve(new Hono().use(limitHono(ours())).get("/", (c) => c.text("hello")).fetch),
  "hono hono-rate-limiter": () => {
    const limit = rateLimiter({
      limit: LIMIT,
      windowMs: PERIOD,
      standardHeaders: "draft-7",
      keyGenerator: (c) => getConnInfo(c).remote.address ?? "",
    });
    return serve(new Hono().use(limit).get("/", (c) => c.text("hello")).fetch);
  },
  elysia: () => new Elysia().get("/", () => "hello").listen(listen).server!.port!,
  "elysia by hand": () =>
    new Elysia().onRequest(({ request, server, set }) => {
      server?.requestIP(request);
      writeFields((name, value) => set.headers[name] = value);
    }).get("/", () => "hello").listen(listen).server!.port!,
  "elysia tidegate": () =>
    new Elysia().use(limitElysia(ours())).get("/", () => "hello").listen(listen).server!.port!,
  "elysia elysia-rate-limit": () =>
    new Elysia().use(elysiaRateLimit({ max: LIMIT, duration: PERIOD }))
      .get("/", () => "hello").listen(listen).server!.port!,
};

const start = servers[process.argv[2] ?? ""];
if (start === undefined) {
  console.error(`Cannot serve as the name must be of ${Object.keys(servers).join(", ")}`);
  process.exit(1);
}
console.log(start());
