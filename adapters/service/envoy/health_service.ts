/*
 * gRPC's own health check, which balancers and Kubernetes use.
 *
 * Source: grpc/grpc, doc/health-checking.md, package grpc.health.v1.
 */

import type {
  sendUnaryData,
  ServerUnaryCall,
  ServerWritableStream,
  ServiceDefinition,
  UntypedServiceImplementation,
} from "@grpc/grpc-js";

const CALL = { requestType: "Request", responseType: "Response", comment: "" };

const MESSAGES = {
  Request: { fields: { service: { id: 1, type: "string" } } },
  Response: { fields: { status: { id: 1, type: "Status" } } },
  Status: { values: { UNKNOWN: 0, SERVING: 1, NOT_SERVING: 2, SERVICE_UNKNOWN: 3 } },
  Health: { methods: { Check: CALL, Watch: { ...CALL, responseStream: true } } },
};

interface HealthRequest {
  readonly service: string;
}

interface HealthResponse {
  readonly status: "SERVING" | "NOT_SERVING" | "SERVICE_UNKNOWN";
}

/** The most streams that watch at the same time. */
const MAX_WATCHERS = 1_000;

const NOT_FOUND = 5;
const RESOURCE_EXHAUSTED = 8;

/** The health service. */
export interface HealthService {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
  /** Tells the watchers the server's current state. */
  tell(): void;
}

/** Makes the health service of a gRPC server that has one other service. */
export function healthService(
  { fromJSON }: typeof import("@grpc/proto-loader"),
  name: string,
  isReady: () => boolean,
): HealthService {
  const nested = { "grpc.health.v1": { nested: MESSAGES } };
  const definition = fromJSON({ nested }, { enums: String, defaults: true });
  const watchers = new Map<ServerWritableStream<HealthRequest, HealthResponse>, string>();

  function statusOf(service: string): HealthResponse["status"] {
    if (service !== "" && service !== name) return "SERVICE_UNKNOWN";
    return isReady() ? "SERVING" : "NOT_SERVING";
  }

  function check(
    { request }: ServerUnaryCall<HealthRequest, HealthResponse>,
    reply: sendUnaryData<HealthResponse>,
  ): void {
    const status = statusOf(request.service);
    if (status === "SERVICE_UNKNOWN") {
      reply({ code: NOT_FOUND, details: "there is no such service" });
    } else reply(null, { status });
  }

  function watch(stream: ServerWritableStream<HealthRequest, HealthResponse>): void {
    if (watchers.size >= MAX_WATCHERS) {
      const error = Object.assign(new Error("too many watchers"), { code: RESOURCE_EXHAUSTED });
      return void stream.emit("error", error);
    }
    const { service } = stream.request;
    watchers.set(stream, service);
    for (const event of ["cancelled", "close", "error"]) {
      stream.on(event, () => watchers.delete(stream));
    }
    stream.write({ status: statusOf(service) });
  }

  return {
    definition: definition["grpc.health.v1.Health"] as unknown as ServiceDefinition,
    implementation: { Check: check, Watch: watch },
    tell(): void {
      for (const [stream, service] of watchers) {
        stream.write({ status: statusOf(service) });
        if (!isReady()) stream.end();
      }
    },
  };
}
