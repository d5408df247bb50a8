/*
 * `tidegate serve`: the decision service, until a signal ends it.
 */

import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";

import type { RuleSource } from "../rules/rules.ts";
import { sharesPort } from "../service/http/shared_port.ts";
import { errorText, lineLog, type Log } from "../service/log.ts";
import type { ServeOptions } from "../service/serve_options.ts";
import {
  type Command,
  defineCommand,
  failureText,
  integerOf,
  millisecondsOf,
  type Option,
  redisUrlOf,
  RULE_OPTIONS,
  TOKEN_OPTION,
  type Tools,
  usageError,
  type ValuesOf,
} from "./command_options.ts";
import { sourceOf } from "./rules_at.ts";

/** The default places for rules. */
const FILES: readonly string[] = ["rules.yaml", "rules.yml", "rules.json"];
const FILE_NAMES = FILES.join(", ");

/** An option of the service, under its own name in camel case or under `as`. */
interface ServiceOption extends Option {
  readonly as?: keyof ServeOptions;
  /** Reads the value; default the value as it is. */
  readonly read?: (text: string, name: string) => unknown;
}

const SERVICE_OPTIONS = {
  ...RULE_OPTIONS,
  hostname: { value: "127.0.0.1", text: "the address to listen on" },
  port: { value: "8080", text: "the port for HTTP; 0 picks a free one", read: integerOf },
  threads: {
    value: "N",
    text: "the number of threads; default one per core, at most 8; one on Node before 22.12",
    read: integerOf,
  },
  capacity: {
    value: "1000000",
    text: "the number of keys in the embedded store",
    read: integerOf,
  },
  "drain-delay": {
    value: "5s",
    text: "how long to keep accepting calls after SIGTERM, when no longer ready",
    read: millisecondsOf,
  },
  "on-lookup-failure": {
    choices: ["throw", "default"],
    text:
      "what to do when a key's own limits cannot be looked up: fail (throw, 503), which is the " +
      "default, or use the limits of the rule",
    as: "lookupCache",
    read: (onFailure: string) => ({ onFailure }),
  },
  token: TOKEN_OPTION,
  trust: {
    value: "loopback,10.0.0.0/8",
    text: "proxies that are trusted to report client addresses",
    as: "trustedProxies",
    read: (text: string) => text.split(","),
  },
  "ipv6-prefix": {
    value: "64",
    text: "how many bits of an IPv6 address identify a client",
    read: integerOf,
  },
  shadow: { text: "refuse nothing, but report what would have been refused" },
  "open-telemetry": {
    text: "record a span and metrics for each decision, with @opentelemetry/api",
  },
  "response-headers": { text: "have Envoy add RateLimit fields to its answers" },
} as const satisfies Readonly<Record<string, ServiceOption>>;

const OPTIONS = {
  ...SERVICE_OPTIONS,
  "grpc-port": { value: "8081", text: "the port for Envoy's gRPC, if its packages are installed" },
  "no-grpc": { text: "turn gRPC off" },
  "tls-cert": { value: "FILE", text: "serve TLS with this certificate, in PEM" },
  "tls-key": { value: "FILE", text: "the private key of the certificate, in PEM" },
  "tls-ca": {
    value: "FILE",
    text: "require client certificates signed by these authorities, in PEM",
  },
  redis: { value: "URL", text: "keep counters in Redis" },
  store: {
    value: "WHERE",
    text: "keep counters in sqlite:FILE, or in postgres://USER@HOST/DATABASE",
  },
  "on-unavailable": {
    choices: ["throw", "allow", "deny"],
    text: "how to answer calls while the store is unavailable; default throw (503)",
  },
  "log-level": { choices: ["info", "error", "off"], text: "which events to print; default info" },
} as const;

type ServeValues = ValuesOf<typeof OPTIONS>;

/** The command `tidegate serve`. */
export const serveCommand: Command = defineCommand({
  name: "serve",
  operands: "[RULES]",
  summary: "serve decisions from rules over HTTP, to Envoy and to other proxies",
  about:
    `  RULES is a YAML or JSON file, a folder of them, or redis://host:port (a hash tidegate:rules).
  Without it, serve looks for ${FILE_NAMES} in this folder, in that order.`,
  options: OPTIONS,
  statuses: ["it was stopped by a signal", "it could not start, or failed later"],
  run: runServe,
});

/** Runs the service; resolves to the exit status once it has ended. */
async function runServe(
  operands: readonly string[],
  values: ServeValues,
  { print, ended: endOf, onReload }: Tools,
): Promise<number> {
  const [rules = FILES.find((file) => existsSync(file)), ...more] = operands;
  if (rules === undefined || more.length > 0) {
    const rule = "serve needs rules: give one file, folder or URL, or create one of";
    throw usageError(`${rule} ${FILE_NAMES}`);
  }
  // The wait for signals begins before the start, so that no signal comes too soon.
  const ended = endOf();
  const log = logOf(values, print);
  const onError = (error: unknown) => log({ event: "redis-error", error: errorText(error) });
  const source = withAdvice(await sourceOf(rules, onError));
  const grpcPort = await grpcPortOf(values, log);
  // Loaded here, so that no other command waits for the service.
  const starting = import("../service/serve.ts").then(({ serve }) =>
    serve({ ...optionsOf(values), grpcPort, rules: source, log })
  );
  const offReload = onReload(() => void starting.then(({ reload }) => reload()).catch(() => {}));
  const isStarted = await Promise.race([starting.then(() => true), ended.then(() => false)]);
  // The service must end during its start, so the source that it waits for is closed.
  if (!isStarted) await source.close?.();
  try {
    const service = await starting;
    // Ctrl-C means an end at once, without a delay for balancers.
    await service.stop(undefined, await ended === "SIGINT" ? 0 : undefined);
  } catch (error) {
    if (isStarted) throw error;
  } finally {
    offReload();
  }
  return 0;
}

/** The source, whose failures the service reports by their message alone. */
function withAdvice(source: RuleSource): RuleSource {
  return {
    ...source,
    async load() {
      try {
        return await source.load();
      } catch (error) {
        throw new Error(failureText(error));
      }
    },
  };
}

/**
 * The port of gRPC. If no port is given and the packages are not installed, the service runs
 * without gRPC.
 */
async function grpcPortOf(values: ServeValues, log: Log): Promise<number | undefined> {
  if (values["no-grpc"] === true) return undefined;
  const port = integerOf(values["grpc-port"], "grpc-port");
  if (port !== undefined) return port;
  try {
    const { loadGrpc } = await import("../service/envoy/grpc_server.ts");
    await loadGrpc();
    return 8081;
  } catch (error) {
    log({ event: "no-grpc", reason: errorText(error) });
    return undefined;
  }
}

/** A log that prints events of the chosen level. */
function logOf({ "log-level": level = "info" }: ServeValues, print: Tools["print"]): Log {
  const write = lineLog((line) => print(line.trimEnd()));
  return (event) => {
    if (level === "info" || (level === "error" && event["level"] === "error")) write(event);
  };
}

function tlsOf(values: ServeValues): ServeOptions["tls"] {
  const { "tls-cert": cert, "tls-key": key, "tls-ca": ca } = values;
  if (cert === undefined && key === undefined && ca === undefined) return undefined;
  if (cert !== undefined && key !== undefined) return { cert, key, ca };
  throw usageError("TLS needs both --tls-cert and --tls-key");
}

function optionsOf(values: ServeValues): Omit<ServeOptions, "rules" | "log"> {
  return {
    threads: sharesPort() ? Math.min(8, availableParallelism()) : 1,
    drainDelay: 5_000,
    ...serviceOptionsOf(values),
    tls: tlsOf(values),
    ...storeOf(values),
  };
}

function serviceOptionsOf(values: Readonly<Record<string, unknown>>): Partial<ServeOptions> {
  const table: Readonly<Record<string, ServiceOption>> = SERVICE_OPTIONS;
  const camelCase = (name: string) =>
    name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(
    Object.entries(table).flatMap(([name, { as = camelCase(name), read }]) => {
      const value = values[name];
      if (value === undefined) return [];
      return [[as, read === undefined ? value : read(String(value), name)]];
    }),
  );
}

/** The store: Redis, `sqlite:FILE`, or the URL of a Postgres, also after `postgres:`. */
function storeOf({ redis, store, "on-unavailable": onUnavailable }: ServeValues) {
  const redisUrl = redisUrlOf(redis, "--redis");
  const [, path] = /^sqlite:(.+)$/s.exec(store ?? "") ?? [];
  const [, url] = /^(?:postgres:)?(postgres(?:ql)?:\/\/.+)$/s.exec(store ?? "") ?? [];
  if (store !== undefined && path === undefined && url === undefined) {
    // The message does not repeat the value, because it may hold a password.
    throw usageError("--store must be sqlite:FILE or postgres://USER@HOST/DATABASE");
  }
  return {
    redis: redisUrl === undefined ? undefined : { url: redisUrl, onUnavailable },
    sqlite: path === undefined ? undefined : { path, onUnavailable },
    postgres: url === undefined ? undefined : { url, onUnavailable },
  };
}
