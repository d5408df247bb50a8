/*
 * A server for a fetch-style handler, on Bun, Deno or Node. Each has its own; they differ in how
 * they are stopped and in who knows the peer's address.
 */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { withTimeout } from "../../../core/toolkit.ts";
import type { ServiceHandler } from "./service_handler.ts";
import { httpFault, problemResponse } from "./problem_response.ts";
import { targetOf } from "./request_target.ts";

/** Where and how to listen. */
export interface HttpServerOptions {
  readonly hostname: string;
  /** The port; 0 for a free one. */
  readonly port: number;
  /** Whether other threads and processes listen on the same port, and share its connections. */
  readonly reusePort: boolean;
  /** The most bytes of a body. */
  readonly maxBody: number;
  readonly handler: ServiceHandler;
}

/** A server that listens. */
export interface HttpServer {
  readonly port: number;
  /** Takes no more connections, lets calls end for so many milliseconds, then ends the rest. */
  stop(grace: number): Promise<void>;
}

interface BunServer {
  readonly port: number;
  requestIP(request: Request): { readonly address: string } | null;
  stop(closeActive?: boolean): Promise<void>;
}

interface BunRuntime {
  serve(options: {
    readonly hostname: string;
    readonly port: number;
    readonly reusePort: boolean;
    readonly maxRequestBodySize: number;
    readonly fetch: (request: Request, server: BunServer) => Response | Promise<Response>;
  }): BunServer;
}

interface DenoRuntime {
  serve(
    options: {
      readonly hostname: string;
      readonly port: number;
      readonly onListen: () => void;
      readonly signal: AbortSignal;
    },
    handler: (
      request: Request,
      info: { readonly remoteAddr: { readonly hostname?: string } },
    ) => Response | Promise<Response>,
  ): { readonly addr: { readonly port: number }; shutdown(): Promise<void> };
}

/** Starts a server with the runtime at hand. */
export function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { Bun, Deno } = globalThis as { Bun?: BunRuntime; Deno?: DenoRuntime };
  if (Bun !== undefined) return Promise.resolve(listenOnBun(Bun, options));
  // Deno shares a port between threads by way of Node's server only, unless a flag says otherwise.
  if (Deno !== undefined && !options.reusePort) return Promise.resolve(listenOnDeno(Deno, options));
  return listenOnNode(options);
}

function listenOnBun(bun: BunRuntime, options: HttpServerOptions): HttpServer {
  const { hostname, port, reusePort, maxBody, handler } = options;
  const server = bun.serve({
    hostname,
    port,
    reusePort,
    maxRequestBodySize: maxBody,
    fetch: (request, self) => handler(request, () => self.requestIP(request)?.address),
  });
  return {
    port: server.port,
    async stop(grace) {
      await withTimeout(server.stop(), grace, nothing);
      await server.stop(true);
    },
  };
}

/**
 * Deno's server can be shut down gently or broken off, but not one after the other. So calls are
 * counted: once none is under way it is shut down, and after the grace it is broken off.
 */
function listenOnDeno(deno: DenoRuntime, options: HttpServerOptions): HttpServer {
  const { hostname, port, handler } = options;
  const abort = new AbortController();
  let underWay = 0;
  let stopping = false;
  let ended = () => {};

  async function counted(request: Request, peer: string | undefined): Promise<Response> {
    if (stopping) return problemResponse(httpFault(503, "the service is stopping"), CLOSE);
    underWay++;
    try {
      return await handler(request, () => peer);
    } finally {
      underWay--;
      if (underWay === 0) ended();
    }
  }

  const server = deno.serve(
    { hostname, port, onListen() {}, signal: abort.signal },
    (request, { remoteAddr }) => counted(request, remoteAddr.hostname),
  );
  return {
    port: server.addr.port,
    async stop(grace) {
      stopping = true;
      if (underWay > 0) {
        await withTimeout(new Promise<void>((resolve) => ended = resolve), grace, nothing);
      }
      if (underWay > 0) abort.abort();
      else await withTimeout(server.shutdown(), grace, nothing);
    },
  };
}

function listenOnNode(options: HttpServerOptions): Promise<HttpServer> {
  const { hostname, port, reusePort } = options;
  const server = createServer((incoming, outgoing) => void answer(options, incoming, outgoing));
  return new Promise((resolve, reject) => {
    server.on("error", reject);
    server.listen({ host: hostname, port, ...(reusePort ? { reusePort } : {}) }, () => {
      resolve({
        port: (server.address() as AddressInfo).port,
        async stop(grace) {
          const closed = new Promise<void>((done) => server.close(() => done()));
          server.closeIdleConnections();
          await withTimeout(closed, grace, nothing);
          server.closeAllConnections();
        },
      });
    });
  });
}

async function answer(
  { handler, maxBody }: HttpServerOptions,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  try {
    const body = await bodyOf(incoming, maxBody);
    const response = body === undefined
      ? problemResponse(httpFault(413, `a body must be at most ${maxBody} bytes long`), CLOSE)
      : await handler(requestOf(incoming, body), () => incoming.socket.remoteAddress);
    outgoing.writeHead(response.status, [...response.headers].flat());
    outgoing.end(new Uint8Array(await response.arrayBuffer()));
  } catch {
    // The request could not be put together, or the client is gone.
    if (!outgoing.headersSent) outgoing.writeHead(400);
    outgoing.end();
  }
}

function nothing(): void {}

const CLOSE: Readonly<Record<string, string>> = { connection: "close" };

/** For how long the rest of a body that is too large is thrown away, so that its sender listens. */
const DRAIN_FOR = 1_000;

/** The body of a request; `undefined` if it is too large. */
function bodyOf(
  incoming: IncomingMessage,
  most: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    incoming.on("data", (chunk: Uint8Array) => {
      if (size > most) return;
      size += chunk.length;
      if (size <= most) return void chunks.push(chunk);
      chunks.length = 0;
      setTimeout(() => incoming.destroy(), DRAIN_FOR).unref();
      resolve(undefined);
    });
    incoming.on("end", () => resolve(new Uint8Array(Buffer.concat(chunks))));
    incoming.on("error", reject);
    incoming.on("close", () => reject(new Error("the client is gone")));
  });
}

function requestOf(
  { method = "GET", url = "/", headers }: IncomingMessage,
  body: Uint8Array<ArrayBuffer>,
): Request {
  const list = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]]
  );
  const hasBody = method !== "GET" && method !== "HEAD";
  const target = targetOf(url);
  if (target === undefined) throw new TypeError("the target has no path");
  return new Request(`http://localhost${target.path}?${target.query}`, {
    method,
    headers: list,
    ...(hasBody ? { body } : {}),
  });
}
