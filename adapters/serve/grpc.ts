import type {
  sendUnaryData,
  ServerUnaryCall,
  ServiceDefinition,
  UntypedServiceImplementation,
} from "@grpc/grpc-js";

import { loadPackage } from "../load_package.ts";
import type { RuleEngine } from "../rules/engine.ts";
import { isTooManyLimits } from "../rules/too_many_limits.ts";
import { decideCall, type EnvoyAnswer, type EnvoyCall, faultOfCall } from "./envoy_call.ts";
import { callOfMessage, messageOfAnswer } from "./envoy_protobuf.ts";
import type { Figures } from "./figures.ts";
import type { RequestLimits } from "./read_request.ts";
import { tokenCheck } from "./token_check.ts";

/** Where Envoy's service is found. */
const PATH = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

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
  readonly onError: (error: unknown) => void;
}

/** A gRPC server that listens. */
export interface GrpcServer {
  readonly port: number;
  /** Takes no more calls, lets those under way end for so many milliseconds. */
  stop(grace: number): Promise<void>;
}

/** A message that is read when it is looked at, so that a bad one is the call's own error. */
type Lazy = () => EnvoyCall;

/**
 * Starts Envoy's rate limit service, by the package `@grpc/grpc-js`.
 *
 * @throws {Error} If the package is not installed or too old; the message names the command that installs it.
 */
export async function grpcServer(options: GrpcOptions): Promise<GrpcServer> {
  const grpc = await loadPackage({
    name: "@grpc/grpc-js",
    action: "serve gRPC",
    since: "1.10",
    load: () => import("@grpc/grpc-js"),
    // An older server has to be started as well once it is bound.
    isRecent: ({ Server }) => "unbind" in Server.prototype,
  });
  const { engine, hostname, port, maxBody, figures, onError } = options;
  const mayWrite = tokenCheck(options.token);
  const definition = {
    shouldRateLimit: {
      path: PATH,
      requestStream: false,
      responseStream: false,
      requestSerialize: () => Buffer.alloc(0),
      requestDeserialize: (bytes: Buffer): Lazy => () => callOfMessage(bytes),
      responseSerialize: (answer: EnvoyAnswer) => Buffer.from(messageOfAnswer(answer)),
      responseDeserialize: () => undefined,
    },
  } satisfies ServiceDefinition<UntypedServiceImplementation>;

  async function shouldRateLimit(
    { request, metadata }: ServerUnaryCall<Lazy, EnvoyAnswer>,
    reply: sendUnaryData<EnvoyAnswer>,
  ): Promise<void> {
    const start = performance.now();
    const done = (status: number) =>
      figures.call("ShouldRateLimit", status, (performance.now() - start) / 1_000);
    if (!mayWrite((name) => metadata.get(name)[0]?.toString())) {
      done(401);
      return reply({ code: grpc.status.UNAUTHENTICATED, details: "send the token as metadata" });
    }
    let call: EnvoyCall;
    try {
      call = request();
    } catch (error) {
      done(400);
      return reply({ code: grpc.status.INVALID_ARGUMENT, details: String(error) });
    }
    const fault = faultOfCall(call) ?? tooMuch(call, options.limits);
    if (fault !== undefined) {
      done(400);
      return reply({ code: grpc.status.INVALID_ARGUMENT, details: fault });
    }
    try {
      const answer = await decideCall(engine, call);
      done(200);
      reply(null, answer);
    } catch (error) {
      if (isTooManyLimits(error)) {
        done(400);
        return reply({ code: grpc.status.INVALID_ARGUMENT, details: error.message });
      }
      onError(error);
      done(503);
      reply({ code: grpc.status.UNAVAILABLE, details: "the store does not answer" });
    }
  }

  const server = new grpc.Server({ "grpc.max_receive_message_length": maxBody });
  server.addService(definition, { shouldRateLimit });
  const bound = await new Promise<number>((resolve, reject) => {
    const address = hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;
    server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (error, own) => {
      if (error === null) resolve(own);
      else reject(error);
    });
  });
  return {
    port: bound,
    async stop(grace) {
      let timer: ReturnType<typeof setTimeout>;
      await Promise.race([
        new Promise<void>((resolve) => server.tryShutdown(() => resolve())),
        new Promise((resolve) => timer = setTimeout(resolve, grace)),
      ]).finally(() => clearTimeout(timer));
      server.forceShutdown();
    },
  };
}

function tooMuch(
  { descriptors }: EnvoyCall,
  { maxDescriptors, maxEntries, maxText }: RequestLimits,
): string | undefined {
  if (descriptors.length > maxDescriptors) return `at most ${maxDescriptors} descriptors`;
  for (const { entries } of descriptors) {
    if (entries.length > maxEntries) return `at most ${maxEntries} entries of a descriptor`;
    for (const [key, value] of entries) {
      if (key.length > maxText || value.length > maxText) {
        return `at most ${maxText} characters in a key or a value`;
      }
    }
  }
  return undefined;
}
