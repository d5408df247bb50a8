/*
 * A server for the handler of calls: Bun's own, and node:http on Node and Deno. (Deno's own has no
 * timeouts and no cap on connections, and is no faster.) Each server answers faults of the protocol
 * itself.
 */

import { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer, type Server as SecureServer } from "node:https";

import { withTimeout } from "../../../core/application_support.ts";
import { secureOptions, type TlsKeys } from "../tls_keys.ts";
import { fetchCall, type IncomingCall } from "./incoming_call.ts";
import { listenOn, type ListenOptions } from "./listen_on.ts";
import { type ServiceAnswer, tooLarge } from "./service_answer.ts";
import type { ServiceHandler } from "./service_handler.ts";

/** How long a server waits for its clients, in milliseconds. */
export interface HttpTimeouts {
  /** For the fields of a request; on Bun always 10,000. */
  readonly headers: number;
  /** For the body, after that. */
  readonly body: number;
  /** For another request on the same connection. */
  readonly idle: number;
}

/** The options of the HTTP server. */
export interface HttpServerOptions extends ListenOptions {
  /** Without it the server speaks HTTP, with it HTTPS. */
  readonly tls?: TlsKeys | undefined;
  /** Default 10 s for the fields and for the body, and 75 s idle. */
  readonly timeouts?: HttpTimeouts;
  readonly handler: ServiceHandler;
}

/** A server that listens. */
export interface HttpServer {
  readonly port: number;
  /** Replaces the certificate for new connections; Bun's server cannot do that. */
  secure(keys: TlsKeys): void;
  /** Takes no more connections, gives calls so many milliseconds to end, then ends the rest. */
  stop(grace: number): Promise<void>;
}

interface BunServer {
  readonly port: number;
  requestIP(request: Request): { readonly address: string } | null;
  timeout(request: Request, seconds: number): void;
  stop(closeActive?: boolean): Promise<void>;
}

interface BunRuntime {
  serve(options: {
    readonly hostname: string;
    readonly port: number;
    readonly reusePort: boolean;
    readonly idleTimeout: number;
    readonly maxRequestBodySize: number;
    readonly tls?: ReturnType<typeof secureOptions>;
    readonly fetch: (request: Request, server: BunServer) => Response | Promise<Response>;
  }): BunServer;
}

/**
 * The idle time is longer than proxies keep connections (nginx: 60 s), because the proxy must be
 * the first to close a connection.
 */
const TIMEOUTS: HttpTimeouts = { headers: 10_000, body: 10_000, idle: 75_000 };

/** Starts a server on the current runtime. */
export function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { Bun } = globalThis as { Bun?: BunRuntime };
  return Bun === undefined ? listenOnNode(options) : Promise.resolve(listenOnBun(Bun, options));
}

function listenOnBun(bun: BunRuntime, options: HttpServerOptions): HttpServer {
  const { hostname, port, reusePort, handler, tls, timeouts = TIMEOUTS } = options;
  const seconds = (milliseconds: number) => Math.ceil(milliseconds / 1_000);
  const server = bun.serve({
    hostname,
    port,
    reusePort,
    ...(tls === undefined ? {} : { tls: secureOptions(tls) }),
    idleTimeout: seconds(timeouts.idle),
    // The front step checks lengths after the token, like on other runtimes.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    async fetch(request, self) {
      const call = fetchCall(request, () => self.requestIP(request)?.address);
      const answer = await handler({
        ...call,
        body(most) {
          self.timeout(request, seconds(timeouts.body));
          return call.body(most).finally(() => self.timeout(request, seconds(timeouts.idle)));
        },
      });
      return responseOf(answer);
    },
  });
  return {
    port: server.port,
    secure(): never {
      throw new Error("Bun's HTTP server keeps its first certificate: restart the service");
    },
    async stop(grace) {
      await withTimeout(server.stop(), grace, nothing);
      await server.stop(true);
    },
  };
}

function responseOf({ status, headers, body }: ServiceAnswer): Response {
  return new Response(body === "" ? null : body, { status, headers });
}

async function listenOnNode(options: HttpServerOptions): Promise<HttpServer> {
  const server = nodeServer(options);
  for (const event of ["request", "checkContinue", "checkExpectation"]) {
    server.on(event, (incoming, outgoing) => void answer(options.handler, incoming, outgoing));
  }
  const { port, endAll } = await listenOn(server, options);
  return {
    port,
    secure: (keys) => (server as SecureServer).setSecureContext(secureOptions(keys)),
    async stop(grace) {
      const closed = new Promise<void>((done) => server.close(() => done()));
      server.closeIdleConnections();
      await withTimeout(closed, grace, nothing);
      server.closeAllConnections();
      endAll();
    },
  };
}

function nodeServer({ tls, timeouts = TIMEOUTS }: HttpServerOptions): Server | SecureServer {
  const options = {
    headersTimeout: timeouts.headers,
    requestTimeout: timeouts.headers + timeouts.body,
    keepAliveTimeout: timeouts.idle,
    connectionsCheckingInterval: Math.min(1_000, timeouts.headers),
  };
  return tls === undefined ? createServer(options) : createSecureServer({
    ...options,
    ...secureOptions(tls),
    handshakeTimeout: timeouts.headers,
  });
}

async function answer(
  handler: ServiceHandler,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  try {
    if (incoming.httpVersionMajor !== 1) return void outgoing.writeHead(505).end();
    const { status, headers, body } = await handler(nodeCall(incoming, outgoing));
    const length = { "content-length": Buffer.byteLength(body) };
    if (status < 400 || !mayHaveMore(incoming)) {
      outgoing.writeHead(status, { ...headers, ...length });
      outgoing.end(body);
      return;
    }
    // No part of a refused body is kept. The client may still be sending, and should get the answer
    // before the connection ends.
    outgoing.writeHead(status, { ...headers, ...length, connection: "close" });
    outgoing.write(body);
    const drained = new Promise<void>((done) => incoming.once("close", done).once("end", done));
    incoming.resume();
    await withTimeout(drained, DRAIN_FOR, nothing);
    outgoing.end();
  } catch {
    // The client is gone.
    incoming.destroy();
  }
}

function nothing(): void {}

/** How long a refused body is read and thrown away, in milliseconds. */
const DRAIN_FOR = 1_000;

function mayHaveMore({ headers, complete }: IncomingMessage): boolean {
  if (complete) return false;
  return Number(headers["content-length"] ?? 0) > 0 || headers["transfer-encoding"] !== undefined;
}

function nodeCall(incoming: IncomingMessage, outgoing: ServerResponse): IncomingCall {
  const { method = "GET", url = "", headers } = incoming;
  return {
    method,
    target: url,
    header(name) {
      // If a request has two hosts, node:http shows only the first.
      if (name === "host" && hasTwoHosts(incoming)) return ", ";
      return headers[name]?.toString() ?? null;
    },
    peer: () => incoming.socket.remoteAddress,
    body(most) {
      if (headers["expect"] !== undefined) outgoing.writeContinue();
      return readBody(incoming, most);
    },
  };
}

function hasTwoHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 4 && name.toLowerCase() === "host") hosts++;
  }
  return hosts > 1;
}

function readBody(incoming: IncomingMessage, most: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    incoming.on("data", (chunk: Uint8Array) => {
      size += chunk.length;
      if (size <= most) return void chunks.push(chunk);
      chunks.length = 0;
      reject(tooLarge(most));
    });
    incoming.on("end", () => resolve(new TextDecoder().decode(Buffer.concat(chunks))));
    incoming.on("error", reject);
    incoming.on("close", () => reject(new Error("the client is gone")));
  });
}
