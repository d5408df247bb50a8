/*
 * Real routers with the same routes, each in the ways that its options make it read paths. A handler
 * that is reached answers which route it is of, and the part of the path that it was given.
 */

import express from "express";
import fastify, { type FastifyServerOptions } from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import { createRequire } from "node:module";
import type { RequestListener } from "node:http";

import { serveFetch, type TestServer } from "../../../support/serve_fetch.ts";
import { serveNode } from "../../../support/serve_node.ts";

const require = createRequire(import.meta.url);
const express4: typeof express = require("express4");
const koa2: typeof Koa = require("koa2");
/** With this @koa/router compares `context.path` and its routes. */
const { match } = require("path-to-regexp") as {
  match(pattern: string): (path: string) => false | { params: Record<string, string> };
};

/** The answer of a route's handler: the route, and the part of the path that it names. */
export function reached(route: string, part?: string): string {
  return JSON.stringify(part === undefined ? [route] : [route, part]);
}

/** The routers by name; each starts a server. */
export const ROUTERS: Readonly<Record<string, () => Promise<TestServer>>> = {
  "Express 5": () => serveNode(onExpress(express, "/files/*rest")),
  "Express 4": () => serveNode(onExpress(express4, "/files/*")),
  "Fastify": () => onFastify({}),
  "Fastify, lenient": () =>
    onFastify({
      routerOptions: {
        caseSensitive: false,
        ignoreDuplicateSlashes: true,
        ignoreTrailingSlash: true,
        // The types of Fastify 5 have it elsewhere, which the code finds deprecated.
        ...{ useSemicolonDelimiter: true },
      },
    }),
  "Koa 3": () => serveNode(onKoa(Koa)),
  "Koa 2": () => serveNode(onKoa(koa2)),
  "Hono": () => serveFetch(onHono()),
  "URL and URLPattern": () => serveNode(onUrl()),
};

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const FILES = "files";
const ROUTES = [
  ["login", "/login"],
  ["search", "/search/:part"],
  ["users", "/users/:part"],
  ["shops", "/shops/:part/all"],
] as const;

function onExpress(make: typeof express, files: string): RequestListener {
  const app = make();
  // In which it prints no errors.
  app.set("env", "test");
  for (const [name, path] of ROUTES) {
    app.get(path as string, ({ params }, response) => {
      response.end(reached(name, params["part"] as string | undefined));
    });
  }
  app.get(files, (_request, response) => void response.end(reached(FILES)));
  return app as unknown as RequestListener;
}

async function onFastify(options: FastifyServerOptions): Promise<TestServer> {
  const app = fastify(options);
  for (const [name, path] of ROUTES) {
    app.get<{ Params: { part?: string } }>(path, ({ params }) => reached(name, params.part));
  }
  app.get("/files/*", () => reached(FILES));
  await app.listen({ port: 0, host: "127.0.0.1" });
  const port = (app.server.address() as { port: number }).port;
  return { port, close: async () => (app.server.closeAllConnections(), await app.close()) };
}

function onKoa(Make: typeof Koa): RequestListener {
  const app = new Make();
  const routes = [...ROUTES, [FILES, "/files/*rest"] as const].map(([name, pattern]) =>
    [name, match(pattern)] as const
  );
  app.use((context) => {
    for (const [name, matches] of routes) {
      let found: ReturnType<typeof matches> = false;
      try {
        found = matches(context.path);
      } catch {
        // @koa/router leaves what cannot be decoded as it is; the tests of other routers cover that.
      }
      if (found !== false) context.body = reached(name, found.params["part"]);
    }
  });
  app.silent = true;
  return app.callback() as RequestListener;
}

function onHono() {
  const app = new Hono();
  for (const [name, path] of ROUTES) {
    app.get(path as string, (c) => c.text(reached(name, c.req.param("part"))));
  }
  app.get("/files/*", (c) => c.text(reached(FILES)));
  return app.fetch;
}

const URL_ROUTES = [
  ["login", "/login", /^\/login$/],
  ["search", "/search/:part", /^\/search\/([^/]+)$/],
  ["users", "/users/:part", /^\/users\/([^/]+)$/],
  ["shops", "/shops/:part/all", /^\/shops\/([^/]+)\/all$/],
  ["files", "/files/*", /^\/files\/.*$/],
] as const;

/**
 * A hand-written server: it resolves the target against a base, and uses the runtime's URL patterns.
 */
function onUrl(): RequestListener {
  const routes = URL_ROUTES.map(([name, pathname, regexp]) => {
    if (typeof URLPattern === "undefined") {
      return [name, ({ pathname }: URL) => regexp.exec(pathname)?.slice(1)] as const;
    }
    const own = new URLPattern({ pathname });
    const partOf = (url: URL) => {
      const { part } = own.exec(url)?.pathname.groups ?? {};
      return own.test(url) ? part === undefined ? [] : [part] : undefined;
    };
    return [name, partOf] as const;
  });
  return ({ url: target }, response) => {
    response.statusCode = 404;
    if (URL.canParse(target!, "http://base")) {
      const url = new URL(target!, "http://base");
      for (const [name, partOf] of routes) {
        const found = partOf(url);
        if (found === undefined) continue;
        response.statusCode = 200;
        return void response.end(reached(name, found[0] && decoded(found[0])));
      }
    }
    response.end();
  };
}
