/*
 * The options of a service, and what they come to once they are checked and the defaults are in.
 */

import {
  checkInteger,
  checkMilliseconds,
  checkOptions,
  errorMessage,
  firstPrinted,
  guarded,
} from "../../core/toolkit.ts";
import { gcra, limiter, memoryStore, type Store } from "../../mod.ts";
import {
  checkSource,
  fileSource,
  type KeyLimitsOptions,
  type RuleFormat,
  type RuleSource,
} from "../rules/rules.ts";
import { addressKey } from "../http/http.ts";
import { REQUEST_LIMITS, type RequestLimits } from "./http/request_bounds.ts";
import { sharesPort } from "./http/shared_port.ts";
import { tokenCheck } from "./http/request_access.ts";
import type { Log } from "./log.ts";
import type { RedisOptions } from "./store_on_redis.ts";
import type { TlsFiles } from "./tls_keys.ts";

/** The options of `serve`. */
export interface ServeOptions {
  /** The rules: the path of a file or a folder, or another source. */
  readonly rules: string | RuleSource;
  /** The form of the rules; default `"auto"`. */
  readonly format?: RuleFormat | undefined;
  /** Whether files may add to each other's domains; default no. */
  readonly mergeDomains?: boolean | undefined;
  /** Where to listen; default `"127.0.0.1"`. */
  readonly hostname?: string | undefined;
  /** The port for HTTP; 0 for a free one; default 8080. */
  readonly port?: number | undefined;
  /** The port for gRPC; 0 for a free one; without it there is no gRPC. */
  readonly grpcPort?: number | undefined;
  /** The certificate of HTTP and gRPC; without it neither is encrypted. */
  readonly tls?: TlsFiles | undefined;
  /** Threads that serve: workers, or this thread if 1 (default); 1 on Node before 22.12. */
  readonly threads?: number | undefined;
  /** The most keys of the embedded store; default 1,000,000. */
  readonly capacity?: number | undefined;
  /** Keeps counters in Redis, in place of the embedded store. */
  readonly redis?: RedisOptions | undefined;
  /** Keeps counters in a store of your own; only with one thread. */
  readonly store?: Store | undefined;
  /** What calls must bring to change anything or to see a key; without it all of them may. */
  readonly token?: string | undefined;
  /** The proxies whose word on a client's address is believed; default those on this machine. */
  readonly trustedProxies?: readonly string[] | undefined;
  /**
   * Whether answers to Envoy have it add `RateLimit`, `RateLimit-Policy` and `Retry-After` to the
   * answers of its clients; default no.
   */
  readonly responseHeaders?: boolean | undefined;
  /** Whether decisions have spans and metrics, by the package `@opentelemetry/api`; default no. */
  readonly openTelemetry?: boolean | undefined;
  /** Whether nothing is refused, and what would have been is reported; default no. */
  readonly shadow?: boolean | undefined;
  /** Bits of an IPv6 address that count, 32 to 128; default 64. */
  readonly ipv6Prefix?: number | undefined;
  /** How limits of keys of their own are remembered, and what decides when they cannot be had. */
  readonly lookupCache?: KeyLimitsOptions | undefined;
  /**
   * Milliseconds for which a service that ends still takes calls, so that balancers see that it is not
   * ready, and clients leave: `/readyz` is a 503, and every answer ends its connection; default 0.
   */
  readonly drainDelay?: number | undefined;
  /** The most bytes of a body; default 1 MiB. */
  readonly maxBody?: number | undefined;
  /**
   * The most connections of a thread at once; more are closed as they come. Default 10,000. Bun's
   * server knows no such limit.
   */
  readonly maxConnections?: number | undefined;
  /** How much a body may ask for. */
  readonly limits?: Partial<RequestLimits> | undefined;
  /** Where events go; default nowhere. */
  readonly log?: Log | undefined;
}

type Given<Name extends keyof ServeOptions> = Required<Pick<ServeOptions, Name>>;

/** How calls are served; the same on every thread. */
export interface CallSettings
  extends
    Pick<ServeOptions, "token" | "lookupCache">,
    Given<"maxBody" | "maxConnections" | "trustedProxies" | "responseHeaders">,
    Given<"shadow" | "ipv6Prefix"> {
  readonly limits: RequestLimits;
}

/** The options of a service with the defaults in place. */
export interface ServeSettings
  extends
    Pick<ServeOptions, "format" | "mergeDomains" | "grpcPort" | "tls" | "redis" | "store">,
    Given<"hostname" | "port" | "threads" | "capacity" | "drainDelay" | "openTelemetry"> {
  readonly source: RuleSource;
  readonly calls: CallSettings;
  /** Where events go; it does not throw, and repeats no error without end. */
  readonly log: Log;
}

/**
 * Checks the options of a service.
 *
 * @throws {TypeError} If options are of the wrong type, or do not go together.
 * @throws {RangeError} If one is out of range.
 */
export function readServeOptions(options: ServeOptions): ServeSettings {
  checkOptions<ServeOptions>("serve", options, {
    rules: true,
    format: true,
    mergeDomains: true,
    hostname: true,
    port: true,
    grpcPort: true,
    tls: true,
    threads: true,
    capacity: true,
    redis: true,
    store: true,
    token: true,
    trustedProxies: true,
    maxBody: true,
    limits: true,
    ipv6Prefix: true,
    lookupCache: true,
    drainDelay: true,
    maxConnections: true,
    log: true,
    responseHeaders: true,
    shadow: true,
    openTelemetry: true,
  });
  const { rules, hostname = "127.0.0.1", port = 8080, threads = 1, token } = options;
  const { maxConnections = 10_000, drainDelay = 0 } = options;
  checkInteger("serve", "maxConnections", maxConnections, 1);
  checkThreads(threads, options.store);
  checkPort("port", port);
  checkPort("grpcPort", options.grpcPort);
  checkTls(options.tls);
  tokenCheck(token);
  addressKey("::1", options.ipv6Prefix);
  checkMilliseconds("serve", "drainDelay", drainDelay);
  const source = typeof rules === "string" ? fileSource(rules) : rules;
  checkSource("serve", "rules", source);
  return {
    ...options,
    source,
    hostname,
    port,
    threads,
    drainDelay,
    openTelemetry: options.openTelemetry ?? false,
    capacity: options.capacity ?? 1_000_000,
    calls: {
      token,
      maxBody: options.maxBody ?? 2 ** 20,
      maxConnections,
      limits: { ...REQUEST_LIMITS, ...options.limits },
      trustedProxies: options.trustedProxies ?? ["loopback"],
      responseHeaders: options.responseHeaders ?? false,
      shadow: options.shadow ?? false,
      ipv6Prefix: options.ipv6Prefix ?? 64,
      lookupCache: options.lookupCache,
    },
    log: quietLog(options.log ?? (() => {})),
  };
}

function checkTls(tls: TlsFiles | undefined): void {
  if (tls === undefined) return;
  const names = { cert: true, key: true, ca: true, pollEvery: true } as const;
  checkOptions<TlsFiles>("serve TLS", tls, names);
  for (const name of ["cert", "key"] as const) {
    if (typeof tls[name] === "string") continue;
    throw new TypeError(errorMessage("serve TLS", `${name} must be the path of a file`, tls[name]));
  }
  checkMilliseconds("serve TLS", "pollEvery", tls.pollEvery ?? 2_000);
}

function checkPort(option: string, port: number | undefined): void {
  if (port === undefined || (Number.isSafeInteger(port) && port >= 0 && port <= 65_535)) return;
  throw new RangeError(errorMessage("serve", `${option} must be an integer from 0 to 65535`, port));
}

function checkThreads(threads: number, store: Store | undefined): void {
  if (!Number.isSafeInteger(threads) || threads < 1 || threads > 256) {
    throw new RangeError(
      `Cannot serve as threads must be an integer from 1 to 256: current value is ${threads}`,
    );
  }
  if (threads > 1 && store !== undefined) {
    throw new TypeError("Cannot serve as a store of one's own goes with one thread only");
  }
  if (threads > 1 && !sharesPort()) {
    const rule = "threads must be 1 on Node before 22.12, where they cannot share a port";
    throw new RangeError(errorMessage("serve", rule, threads));
  }
}

/** The same log, but an error that comes again and again is written at most five times a second. */
function quietLog(written: Log): Log {
  const log = guarded(written, firstPrinted());
  const errors = limiter(gcra({ limit: 5, period: "1s" }), {
    store: memoryStore({ maxKeys: 1_000 }),
    prefix: "log",
  });
  return (event) => {
    const key = `${event.event} ${String(event.error ?? event.reason ?? "")}`.slice(0, 200);
    if (event.level !== "error" || errors.consume(key).allowed) log(event);
  };
}
