/*
 * The options of a service, and its settings: the checked options with their defaults.
 */

import {
  checkInteger,
  checkMilliseconds,
  checkOptions,
  errorMessage,
  firstPrinted,
  guarded,
  integerFrom,
} from "../../core/application_support.ts";
import { gcra, limiter, memoryStore, type Store } from "../../mod.ts";
import {
  checkSource,
  fileSource,
  type KeyLimitsOptions,
  type RuleFormat,
  type RuleSource,
} from "../rules/rules.ts";
import { addressKey } from "../http/http.ts";
import { REQUEST_BOUNDS, type RequestBounds } from "./http/request_bounds.ts";
import { sharesPort } from "./http/shared_port.ts";
import { tokenCheck } from "./http/request_access.ts";
import type { Log } from "./log.ts";
import type { TlsFiles } from "./tls_keys.ts";

/** How the service uses Redis. */
export interface RedisOptions {
  /** The server: `redis://host:port`. */
  readonly url: string;
  /** How calls are decided when Redis does not answer; default `"throw"`, which answers 503. */
  readonly onUnavailable?: "throw" | "allow" | "deny" | undefined;
  /** The most milliseconds that one round trip may take; default 200. */
  readonly deadline?: number | undefined;
}

/** How the service uses Postgres. */
export interface PostgresOptions {
  /** The database: `postgres://user:password@host:port/database`. */
  readonly url: string;
  /** How calls are decided when Postgres does not answer; default `"throw"`, which answers 503. */
  readonly onUnavailable?: "throw" | "allow" | "deny" | undefined;
}

/** How the service uses a SQLite file. */
export interface SqliteOptions {
  /** The path of the file, which is created if it does not exist. */
  readonly path: string;
  /** How calls are decided while another process holds the lock; default `"throw"`, which answers 503. */
  readonly onUnavailable?: "throw" | "allow" | "deny" | undefined;
}

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
  /** The port for HTTP; 0 for a free port; default 8080. */
  readonly port?: number | undefined;
  /** The port for gRPC; 0 for a free port; without it there is no gRPC. */
  readonly grpcPort?: number | undefined;
  /** The certificate for HTTP and gRPC; without it they are not encrypted. */
  readonly tls?: TlsFiles | undefined;
  /** Threads that serve: workers, or this thread if 1 (default); 1 on Node before 22.12. */
  readonly threads?: number | undefined;
  /**
   * The most keys of the embedded store; default 1,000,000. With one thread a quarter of its heap
   * bounds them as well (`maxBytes` of `memoryStore`).
   */
  readonly capacity?: number | undefined;
  /** Keeps counters in Redis, in place of the embedded store. */
  readonly redis?: RedisOptions | undefined;
  /** Keeps counters in a table of Postgres, in place of the embedded store; takes the package `pg`. */
  readonly postgres?: PostgresOptions | undefined;
  /** Keeps counters in a SQLite file, which other processes of the machine may share. */
  readonly sqlite?: SqliteOptions | undefined;
  /** Keeps counters in a store of your own; only with one thread. */
  readonly store?: Store | undefined;
  /**
   * The token that calls must have to change anything or to see keys; without it all calls may do
   * both.
   */
  readonly token?: string | undefined;
  /** The proxies that are believed about a client's address; default: proxies on this machine. */
  readonly trustedProxies?: readonly string[] | undefined;
  /**
   * Whether answers make Envoy add `RateLimit`, `RateLimit-Policy` and `Retry-After` to the answers
   * of its clients; default no.
   */
  readonly responseHeaders?: boolean | undefined;
  /** Whether decisions have spans and metrics, by the package `@opentelemetry/api`; default no. */
  readonly openTelemetry?: boolean | undefined;
  /** Whether nothing is refused, and refusals are only reported; default no. */
  readonly shadow?: boolean | undefined;
  /** Bits of an IPv6 address that count, 32 to 128; default 64. */
  readonly ipv6Prefix?: number | undefined;
  /**
   * How individual limits of keys are remembered, and what decides if the source cannot give them.
   */
  readonly lookupCache?: KeyLimitsOptions | undefined;
  /**
   * Milliseconds for which a stopping service still takes calls. Meanwhile `/readyz` is a 503 and
   * every answer ends its connection, so that balancers and clients leave; default 0.
   */
  readonly drainDelay?: number | undefined;
  /** The most bytes of a body; default 1 MiB. */
  readonly maxBody?: number | undefined;
  /**
   * The most connections of a thread at once; further connections are closed. Default 10,000. Bun's
   * server has no such limit.
   */
  readonly maxConnections?: number | undefined;
  /** How much a body may ask for. */
  readonly limits?: Partial<RequestBounds> | undefined;
  /** Receives events; default: events are dropped. */
  readonly log?: Log | undefined;
}

const DEFAULTS = {
  hostname: "127.0.0.1",
  port: 8080,
  threads: 1,
  capacity: 1_000_000,
  drainDelay: 0,
  openTelemetry: false,
  maxBody: 1_048_576,
  maxConnections: 10_000,
  trustedProxies: ["loopback"] as const,
  responseHeaders: false,
  shadow: false,
  ipv6Prefix: 64,
};

type Defaulted = keyof typeof DEFAULTS;

/** The options of a service with the defaults in place. */
export type ServeSettings =
  & Omit<ServeOptions, Defaulted | "rules" | "limits" | "log">
  & { readonly [Name in Defaulted]: NonNullable<ServeOptions[Name]> }
  & {
    readonly source: RuleSource;
    readonly limits: RequestBounds;
    /** Receives events. It does not throw, and bounds repeated errors. */
    readonly log: Log;
  };

/** How calls are served; the same on every thread. */
export type CallSettings = Pick<
  ServeSettings,
  | ("token" | "lookupCache" | "maxBody" | "maxConnections" | "trustedProxies")
  | ("responseHeaders" | "shadow" | "ipv6Prefix" | "limits")
>;

/**
 * Checks the options of a service.
 *
 * @throws {TypeError} If options are of the wrong type, or cannot be combined.
 * @throws {RangeError} If an option is out of range.
 */
export function readServeOptions(options: ServeOptions): ServeSettings {
  checkOptions<ServeOptions>("serve", options, {
    rules: true,
    format: true,
    mergeDomains: true,
    hostname: true,
    port: checkPort,
    grpcPort: checkPort,
    tls: checkTls,
    threads: checkThreads,
    capacity: true,
    redis: checkRedis,
    postgres: checkPostgres,
    sqlite: checkSqlite,
    store: true,
    token: (_action, _option, token) => tokenCheck(token as string),
    trustedProxies: true,
    maxBody: true,
    limits: true,
    ipv6Prefix: (_action, _option, bits) => addressKey("::1", bits as number),
    lookupCache: true,
    drainDelay: checkMilliseconds,
    maxConnections: integerFrom(1),
    log: true,
    responseHeaders: true,
    shadow: true,
    openTelemetry: true,
  });
  const { rules, limits, log, ...others } = options;
  const given = Object.entries(others).filter(([, value]) => value !== undefined && value !== null);
  const settings = { ...DEFAULTS, ...Object.fromEntries(given) as typeof others & typeof DEFAULTS };
  const { store, redis, postgres, sqlite } = settings;
  if ([store, redis, postgres, sqlite].filter((each) => each !== undefined).length > 1) {
    throw new TypeError(
      "Cannot serve because only one of store, redis, postgres and sqlite may be given",
    );
  }
  if (settings.threads > 1 && settings.store !== undefined) {
    throw new TypeError("Cannot serve because a store of your own needs one thread");
  }
  const source = typeof rules === "string" ? fileSource(rules) : rules;
  checkSource("serve", "rules", source);
  return {
    ...settings,
    source,
    limits: { ...REQUEST_BOUNDS, ...limits },
    log: quietLog(log ?? (() => {})),
  };
}

const checkPort = integerFrom(0, 65_535);

function checkSqlite(action: string, option: string, sqlite: unknown): void {
  checkOptions<SqliteOptions>(`${action} with SQLite`, sqlite, {
    path: true,
    onUnavailable: true,
  });
  const { path } = sqlite as SqliteOptions;
  requireText(action, `${option} must be the path of a file`, path, /./s);
}

function checkRedis(action: string, option: string, redis: unknown): void {
  checkOptions<RedisOptions>(`${action} with Redis`, redis, {
    url: true,
    onUnavailable: true,
    deadline: true,
  });
  const { url } = redis as RedisOptions;
  requireUrl(action, `${option} must have a url, redis://...`, url, /^rediss?:\/\//);
}

function checkPostgres(action: string, option: string, postgres: unknown): void {
  checkOptions<PostgresOptions>(`${action} with Postgres`, postgres, {
    url: true,
    onUnavailable: true,
  });
  const { url } = postgres as PostgresOptions;
  requireUrl(action, `${option} must have a url, postgres://...`, url, /^postgres(ql)?:\/\//);
}

function checkTls(action: string, _option: string, tls: unknown): void {
  checkOptions<TlsFiles>(`${action} TLS`, tls, {
    cert: true,
    key: true,
    ca: true,
    pollEvery: checkMilliseconds,
  });
  const { cert, key } = tls as TlsFiles;
  requireText("serve TLS", "cert must be the path of a file", cert, /./s);
  requireText("serve TLS", "key must be the path of a file", key, /./s);
}

function requireText(
  action: string,
  rule: string,
  text: unknown,
  form: RegExp,
  shown: unknown = text,
): void {
  if (typeof text === "string" && form.test(text)) return;
  throw new TypeError(errorMessage(action, rule, shown));
}

function requireUrl(action: string, rule: string, url: unknown, form: RegExp): void {
  // The message does not repeat a text, because it may hold a password.
  requireText(action, rule, url, form, typeof url === "string" ? "another text" : url);
}

function checkThreads(action: string, option: string, threads: unknown): void {
  checkInteger(action, option, threads, 1, 256);
  if (threads === 1 || sharesPort()) return;
  const rule = "threads must be 1 on Node before 22.12, where they cannot share a port";
  throw new RangeError(errorMessage(action, rule, threads));
}

/** The log, but an error that repeats is written at most five times a second. */
function quietLog(written: Log): Log {
  const log = guarded(written, firstPrinted());
  const errors = limiter(gcra({ limit: 5, period: "1s", burst: 5 }), {
    store: memoryStore({ maxKeys: 1_000, perProcess: true }),
    prefix: "log",
  });
  return (event) => {
    const key = `${event.event} ${String(event["error"] ?? event["reason"] ?? "")}`.slice(0, 200);
    if (event["level"] !== "error" || errors.consume(key).allowed) log(event);
  };
}
