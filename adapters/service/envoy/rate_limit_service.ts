/*
 * Envoy's rate limit service as gRPC knows it: its path, and how its messages are read and written,
 * by the package `@grpc/proto-loader`. The package makes functions from text, so a runtime that
 * forbids that cannot serve gRPC.
 *
 * Source: envoyproxy/data-plane-api, envoy/service/ratelimit/v3/rls.proto. The names of messages
 * are ours, because only numbers are sent.
 */

import type { MethodDefinition, ServiceDefinition } from "@grpc/proto-loader";

import type { EnvoyAnswer } from "./decide_call.ts";
import { UNIT_NAMES } from "./read_call.ts";

const PACKAGE = "envoy.service.ratelimit.v3";

type Fields = Readonly<Record<string, readonly [id: number, type: string, rule?: "repeated"]>>;

function message(fields: Fields) {
  const entries = Object.entries(fields)
    .map(([name, [id, type, rule]]) => [name, { id, type, rule }]);
  return { fields: Object.fromEntries(entries) };
}

/**
 * Texts are read as bytes, because the package accepts texts that are not UTF-8, and changes them.
 */
const MESSAGES = {
  Request: message({
    domain: [1, "bytes"],
    descriptors: [2, "Descriptor", "repeated"],
    hitsAddend: [3, "uint32"],
  }),
  Descriptor: message({
    entries: [1, "Entry", "repeated"],
    limit: [2, "Override"],
    hitsAddend: [3, "UInt64Value"],
    isNegativeHits: [4, "bool"],
  }),
  Entry: message({ key: [1, "bytes"], value: [2, "bytes"] }),
  Override: message({ requestsPerUnit: [1, "uint32"], unit: [2, "Unit"] }),
  UInt64Value: message({ value: [1, "uint64"] }),
  Response: message({
    overallCode: [1, "Code"],
    statuses: [2, "Status", "repeated"],
    responseHeadersToAdd: [3, "Header", "repeated"],
  }),
  Header: message({ key: [1, "string"], value: [2, "string"] }),
  Status: message({
    code: [1, "Code"],
    currentLimit: [2, "Limit"],
    limitRemaining: [3, "uint32"],
    durationUntilReset: [4, "Duration"],
  }),
  Limit: message({ requestsPerUnit: [1, "uint32"], unit: [2, "Unit"], name: [3, "string"] }),
  Duration: message({ seconds: [1, "int64"] }),
  Unit: { values: Object.fromEntries(UNIT_NAMES.map((name, number) => [name, number])) },
  Code: { values: { UNKNOWN: 0, OK: 1, OVER_LIMIT: 2 } },
  RateLimitService: {
    methods: {
      ShouldRateLimit: { requestType: "Request", responseType: "Response", comment: "" },
    },
  },
};

interface CallMessage {
  readonly domain: Uint8Array;
  readonly descriptors: readonly {
    readonly entries: readonly { readonly key: Uint8Array; readonly value: Uint8Array }[];
    readonly limit: unknown;
    readonly hitsAddend: { readonly value: number } | null;
    readonly isNegativeHits: boolean;
  }[];
  readonly hitsAddend: number;
}

/** Reads and writes the messages of the service. */
export interface RateLimitService {
  readonly path: string;
  /**
   * A call in protobuf's JSON form.
   *
   * @throws {RangeError} If the bytes are not a message.
   * @throws {TypeError} If a text is not UTF-8.
   */
  read(bytes: Buffer): unknown;
  write(answer: EnvoyAnswer): Buffer;
}

/** Makes the service with the package. */
export function rateLimitService(
  { fromJSON }: typeof import("@grpc/proto-loader"),
): RateLimitService {
  const definition = fromJSON(
    { nested: { [PACKAGE]: { nested: MESSAGES } } },
    { longs: Number, enums: String, defaults: true },
  );
  const service = definition[`${PACKAGE}.RateLimitService`] as ServiceDefinition;
  const { path, requestDeserialize, responseSerialize } =
    service["ShouldRateLimit"] as MethodDefinition<object, object>;
  return {
    path,
    read: (bytes) => dataOf(decoded(() => requestDeserialize(bytes) as CallMessage)),
    write: ({ statuses, ...answer }) =>
      responseSerialize({
        ...answer,
        statuses: statuses.map(({ durationUntilReset: seconds, ...status }) => ({
          ...status,
          durationUntilReset: seconds && { seconds: parseInt(seconds) },
        })),
      }),
  };
}

function decoded(decode: () => CallMessage): CallMessage {
  try {
    return decode();
  } catch (cause) {
    throw new RangeError(`Cannot read the message: ${(cause as Error).message}`, { cause });
  }
}

function dataOf({ domain, descriptors, hitsAddend }: CallMessage): unknown {
  return {
    domain: strict.decode(domain),
    descriptors: descriptors.map(({ entries, limit, hitsAddend, isNegativeHits }) => ({
      // Clients choose values, so a malformed value must not admit the call.
      entries: entries.map(({ key, value }) => ({
        key: strict.decode(key),
        value: lenient.decode(value),
      })),
      limit,
      hitsAddend: hitsAddend?.value,
      isNegativeHits,
    })),
    hitsAddend,
  };
}

const strict = new TextDecoder("utf-8", { fatal: true });

const lenient = new TextDecoder("utf-8");
