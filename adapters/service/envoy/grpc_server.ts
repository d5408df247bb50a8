/*
 * The gRPC side of the service: Envoy's rate limit service over the rules, by the packages
 * `@grpc/grpc-js` and `@grpc/proto-loader`. A malformed call ends in an error of that call alone.
 */

import { Buffer } from "node:buffer";
import { createServer } from "node:net";

import type {
  sendUnaryData,
  ServerCredentials,
  ServerUnaryCall,
  ServiceDefinition,
} from "@grpc/grpc-js";

import { withTimeout } from "../../../core/application_support.ts";
import type { RuleEngine } from "../../rules/rules.ts";
import { loadPackage } from "../../optional_packages/load_package.ts";
import type { CallSettings } from "../serve_options.ts";
import type { HttpServer } from "../http/http_server.ts";
import { listenOn, type ListenOptions } from "../http/listen_on.ts";
import { tokenCheck } from "../http/request_access.ts";
import type { RequestBounds } from "../http/request_bounds.ts";
import { asRefusal, type CallRefusal, refusalOf, refuse } from "../http/service_answer.ts";
import type { ServiceHandlerOptions } from "../http/service_handler.ts";
import type { TlsKeys } from "../tls_keys.ts";
import { decideCall, type EnvoyAnswer } from "./decide_call.ts";
import { healthService } from "./health_service.ts";
import { type RateLimitService, rateLimitService } from "./rate_limit_service.ts";
import { type EnvoyCall, readCall } from "./read_call.ts";

/** The options of the gRPC server. */
export interface GrpcOptions
  extends
    ListenOptions,
    Pick<CallSettings, "limits" | "maxBody" | "responseHeaders" | "token">,
    Pick<ServiceHandlerOptions, "figures" | "isReady" | "onError"> {
  readonly engine: RuleEngine;
  readonly tls: TlsKeys | undefined;
}

/** A gRPC server that listens. */
export interface GrpcServer extends HttpServer {
  /** Tells health watchers that it will soon take no more calls. */
  drain(): void;
}

/**
 * A message that is decoded only when it is used, so that a bad message ends in an error of its
 * call alone.
 */
type Lazy = () => unknown;

/**
 * Milliseconds after which connections end. A connection whose client has vanished ends within some
 * 80 s. Every connection ends after five minutes, so that clients reach servers that were started
 * meanwhile.
 */
const CHANNEL = {
  "grpc.keepalive_time_ms": 60_000,
  "grpc.keepalive_timeout_ms": 20_000,
  "grpc.max_connection_age_ms": 300_000,
  "grpc.max_connection_age_grace_ms": 10_000,
} as const;

/** gRPC codes by HTTP status, because all calls are counted by HTTP statuses. */
const CODES: Readonly<Record<number, number>> = { 400: 3, 401: 16, 503: 14 };

/**
 * Starts Envoy's rate limit service.
 *
 * @throws {Error} On Deno, and if a package is not installed or too old; the message names the command
 * that installs it.
 */
export async function grpcServer(options: GrpcOptions): Promise<GrpcServer> {
  const [grpc, loader] = await loadGrpc();
  const service = rateLimitService(loader);
  const { limits, responseHeaders } = options;
  const mayWrite = tokenCheck(options.token);

  async function shouldRateLimit(
    { request, metadata }: ServerUnaryCall<Lazy, EnvoyAnswer>,
    reply: sendUnaryData<EnvoyAnswer>,
  ): Promise<void> {
    const start = performance.now();
    let answer: EnvoyAnswer | undefined;
    let refusal: CallRefusal | undefined;
    try {
      if (!mayWrite((name) => metadata.get(name)[0]?.toString())) {
        refuse(401, "send the token as metadata");
      }
      answer = await decideCall(options.engine, callOf(request, limits), responseHeaders);
    } catch (error) {
      refusal = asRefusal(error);
      if (refusal === undefined) options.onError(error);
    }
    const seconds = (performance.now() - start) / 1_000;
    const { status, detail } = refusal ?? refusalOf(503, "the store does not answer");
    options.figures.call("ShouldRateLimit", answer === undefined ? status : 200, seconds);
    if (answer === undefined) reply({ code: CODES[status]!, details: detail });
    else reply(null, answer);
  }

  const server = new grpc.Server({
    ...CHANNEL,
    "grpc.max_receive_message_length": options.maxBody,
  });
  server.addService(definitionOf(service), { shouldRateLimit });
  const health = healthService(loader, service.path.split("/")[1]!, options.isReady);
  server.addService(health.definition, health.implementation);
  // The package cannot bind a port that threads share, and keeps its first certificate. So it is
  // given connections, with credentials that may differ each time.
  const injectorOf = (keys: TlsKeys | undefined) =>
    server.createConnectionInjector(credentialsOf(grpc, keys));
  let injector = injectorOf(options.tls);
  const listener = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    injector.injectConnection(socket);
  });
  const { port, endAll } = await listenOn(listener, options);
  return {
    port,
    secure: (keys) => void (injector = injectorOf(keys)),
    drain: health.tell,
    async stop(grace) {
      listener.close();
      const stopped = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
      await withTimeout(stopped, grace, () => {});
      server.forceShutdown();
      endAll();
    },
  };
}

function credentialsOf(
  { ServerCredentials }: typeof import("@grpc/grpc-js"),
  keys: TlsKeys | undefined,
): ServerCredentials {
  if (keys === undefined) return ServerCredentials.createInsecure();
  const { cert, key, ca } = keys;
  const pair = { private_key: Buffer.from(key), cert_chain: Buffer.from(cert) };
  const authorities = ca === undefined ? null : Buffer.from(ca);
  return ServerCredentials.createSsl(authorities, [pair], authorities !== null);
}

function definitionOf({ path, read, write }: RateLimitService): ServiceDefinition {
  return {
    shouldRateLimit: {
      path,
      requestStream: false,
      responseStream: false,
      requestSerialize: () => Buffer.alloc(0),
      requestDeserialize: (bytes: Buffer): Lazy => () => read(bytes),
      responseSerialize: write,
      responseDeserialize: () => undefined,
    },
  };
}

/** Reads a call, and refuses one that is malformed. */
function callOf(read: Lazy, limits: RequestBounds): EnvoyCall {
  try {
    return readCall(read(), limits);
  } catch (error) {
    throw asRefusal(error) ?? refusalOf(400, String(error));
  }
}

/**
 * Loads the packages that the server needs.
 *
 * @throws {Error} On Deno: a client that disconnects after some hundred calls ends the process there.
 */
export async function loadGrpc(): Promise<
  [typeof import("@grpc/grpc-js"), typeof import("@grpc/proto-loader")]
> {
  // https://github.com/denoland/deno/issues/36788
  if ("Deno" in globalThis) {
    throw new Error(
      "Cannot serve gRPC on Deno because its HTTP/2 crashes when a client disconnects: run the service on " +
        "Node or Bun, or without a port for gRPC",
    );
  }
  return await Promise.all([
    loadPackage({
      name: "@grpc/grpc-js",
      action: "serve gRPC",
      since: "1.11",
      load: () => import("@grpc/grpc-js"),
      isRecent: ({ Server }) => "createConnectionInjector" in Server.prototype,
    }),
    loadPackage({
      name: "@grpc/proto-loader",
      action: "serve gRPC",
      since: "0.7",
      load: () => import("@grpc/proto-loader"),
      isRecent: (module) => "loadSync" in module,
    }),
  ]);
}
