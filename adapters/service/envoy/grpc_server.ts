/*
 * The gRPC side of the service: Envoy's rate limit service over the rules, by the packages
 * `@grpc/grpc-js` and `@grpc/proto-loader`. A call that is wrong is the call's own error.
 */

import type { Metadata, sendUnaryData, ServerUnaryCall, ServiceDefinition } from "@grpc/grpc-js";

import { withTimeout } from "../../../core/toolkit.ts";
import { isTooManyLimits, type RuleEngine } from "../../rules/rules.ts";
import { loadPackage } from "../../packages/load_package.ts";
import type { RequestLimits } from "../http/request_bounds.ts";
import { type TokenCheck, tokenCheck } from "../http/token_check.ts";
import { type VerdictFields, verdictFields } from "../http/verdict_fields.ts";
import type { Figures } from "../metrics/figures.ts";
import { decideCall, type EnvoyAnswer } from "./decide_call.ts";
import { type RateLimitService, rateLimitService } from "./rate_limit_service.ts";
import { readCall } from "./read_call.ts";

/** What the gRPC server needs. */
export interface GrpcOptions {
  readonly engine: RuleEngine;
  readonly hostname: string;
  /** The port; 0 for a free one. */
  readonly port: number;
  readonly maxBody: number;
  readonly limits: RequestLimits;
  readonly figures: Figures;
  /** What calls must bring; without it every call may take units. */
  readonly token: string | undefined;
  /** Whether answers bring header fields for Envoy's clients. */
  readonly responseHeaders: boolean;
  readonly onError: (error: unknown) => void;
}

/** A gRPC server that listens. */
export interface GrpcServer {
  readonly port: number;
  /** Takes no more calls, lets those under way end for so many milliseconds. */
  stop(grace: number): Promise<void>;
}

/** A message that is read when it is looked at, so that a bad one is the call's own error. */
type Lazy = () => unknown;

/** What a call comes to: an answer, or what is wrong. */
type Outcome =
  | { readonly status: 200; readonly answer: EnvoyAnswer }
  | { readonly status: 400 | 401 | 503; readonly details: string };

/** The codes of gRPC by the statuses of HTTP, by which all calls are counted. */
const CODES = { 400: 3, 401: 16, 503: 14 } as const;

/**
 * Starts Envoy's rate limit service.
 *
 * @throws {Error} If a package is not installed or too old; the message names the command that
 * installs it.
 */
export async function grpcServer(options: GrpcOptions): Promise<GrpcServer> {
  const [grpc, loader] = await loadGrpc();
  const service = rateLimitService(loader);
  const mayWrite = tokenCheck(options.token);
  const fieldsOf = options.responseHeaders ? verdictFields() : undefined;

  async function shouldRateLimit(
    { request, metadata }: ServerUnaryCall<Lazy, EnvoyAnswer>,
    reply: sendUnaryData<EnvoyAnswer>,
  ): Promise<void> {
    const start = performance.now();
    const outcome = await outcomeOf(request, metadata, mayWrite, options, fieldsOf);
    const seconds = (performance.now() - start) / 1_000;
    options.figures.call("ShouldRateLimit", outcome.status, seconds);
    if (outcome.status === 200) reply(null, outcome.answer);
    else reply({ code: CODES[outcome.status], details: outcome.details });
  }

  const server = new grpc.Server({ "grpc.max_receive_message_length": options.maxBody });
  server.addService(definitionOf(service), { shouldRateLimit });
  const port = await bind(grpc, server, options);
  return {
    port,
    async stop(grace) {
      const stopped = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
      await withTimeout(stopped, grace, () => {});
      server.forceShutdown();
    },
  };
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

async function outcomeOf(
  request: Lazy,
  metadata: Metadata,
  mayWrite: TokenCheck,
  { engine, limits, onError }: GrpcOptions,
  fieldsOf: VerdictFields | undefined,
): Promise<Outcome> {
  if (!mayWrite((name) => metadata.get(name)[0]?.toString())) {
    return { status: 401, details: "send the token as metadata" };
  }
  let call: ReturnType<typeof readCall>;
  try {
    call = readCall(request(), limits);
  } catch (error) {
    return { status: 400, details: String(error) };
  }
  if (typeof call === "string") return { status: 400, details: call };
  try {
    return { status: 200, answer: await decideCall(engine, call, fieldsOf) };
  } catch (error) {
    if (isTooManyLimits(error)) return { status: 400, details: error.message };
    onError(error);
    return { status: 503, details: "the store does not answer" };
  }
}

function bind(
  { ServerCredentials }: typeof import("@grpc/grpc-js"),
  server: InstanceType<typeof import("@grpc/grpc-js").Server>,
  { hostname, port }: GrpcOptions,
): Promise<number> {
  const address = hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
}

/** Loads the packages that the server is made by. */
export function loadGrpc(): Promise<
  [typeof import("@grpc/grpc-js"), typeof import("@grpc/proto-loader")]
> {
  return Promise.all([
    loadPackage({
      name: "@grpc/grpc-js",
      action: "serve gRPC",
      since: "1.10",
      load: () => import("@grpc/grpc-js"),
      // An older server has to be started as well once it is bound.
      isRecent: ({ Server }) => "unbind" in Server.prototype,
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
