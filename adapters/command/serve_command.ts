/*
 * `tidegate serve`: the decision service, until a signal ends it.
 */

import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";

import { sharesPort } from "../service/http/shared_port.ts";
import { loadGrpc } from "../service/envoy/grpc_server.ts";
import { errorText, lineLog, type Log } from "../service/log.ts";
import { serve } from "../service/serve.ts";
import type { ServeOptions } from "../service/serve_options.ts";
import {
  formatOf,
  integerOf,
  millisecondsOf,
  redisOf,
  type Tools,
  usageError,
  type Values,
} from "./command_options.ts";
import { sourceOf } from "./rules_at.ts";

/** Where rules are looked for if nobody says. */
const FILES: readonly string[] = ["rules.yaml", "rules.yml", "rules.json"];

/** Runs the service; resolves to the exit status once it has ended. */
export async function runServe(
  operands: readonly string[],
  values: Values,
  { print, ended: endOf, onReload }: Tools,
): Promise<number> {
  const [rules = FILES.find((file) => existsSync(file)), ...more] = operands;
  if (rules === undefined || more.length > 0) {
    throw usageError(`serve takes one operand, the rules, or finds them in ${FILES.join(", ")}`);
  }
  // Asked for before the start, so that no signal comes too soon.
  const ended = endOf();
  const log = logOf(values, print);
  const onError = (error: unknown) => log({ event: "redis-error", error: errorText(error) });
  const source = await sourceOf(rules, onError);
  const grpcPort = await grpcPortOf(values, log);
  const starting = serve({ ...optionsOf(values), grpcPort, rules: source, log });
  const offReload = onReload(() => void starting.then(({ reload }) => reload()).catch(() => {}));
  const isStarted = await Promise.race([starting.then(() => true), ended.then(() => false)]);
  // It is to end while it starts: what it waits for is let go of.
  if (!isStarted) await source.close?.();
  try {
    const service = await starting;
    // Whoever presses Ctrl-C wants an end, and no balancer to notice first.
    await service.stop(undefined, await ended === "SIGINT" ? 0 : undefined);
  } catch (error) {
    if (isStarted) throw error;
  } finally {
    offReload();
  }
  return 0;
}

/** The port of gRPC. Unless one is asked for, the service does without where the packages are not there. */
async function grpcPortOf(values: Values, log: Log): Promise<number | undefined> {
  if (values["no-grpc"] === true) return undefined;
  const port = integerOf(values["grpc-port"], "grpc-port");
  if (port !== undefined) return port;
  try {
    await loadGrpc();
    return 8081;
  } catch (error) {
    log({ event: "no-grpc", reason: errorText(error) });
    return undefined;
  }
}

function lookupFailureOf({ "on-lookup-failure": choice = "throw" }: Values): "throw" | "default" {
  if (choice === "throw" || choice === "default") return choice;
  throw usageError("--on-lookup-failure must be throw or default");
}

/** A log of the events that are to be printed. */
function logOf({ "log-level": level = "info" }: Values, print: Tools["print"]): Log {
  if (level !== "info" && level !== "error" && level !== "off") {
    throw usageError("--log-level must be info, error or off");
  }
  const write = lineLog((line) => print(line.trimEnd()));
  return (event) => {
    if (level === "info" || (level === "error" && event.level === "error")) write(event);
  };
}

function tlsOf(values: Values): ServeOptions["tls"] {
  const { "tls-cert": cert, "tls-key": key, "tls-ca": ca } = values;
  if (cert === undefined && key === undefined && ca === undefined) return undefined;
  if (cert !== undefined && key !== undefined) return { cert, key, ca };
  throw usageError("TLS takes both --tls-cert and --tls-key");
}

function optionsOf(values: Values): Omit<ServeOptions, "rules" | "log"> {
  const cores = sharesPort() ? Math.min(8, availableParallelism()) : 1;
  return {
    format: formatOf(values),
    mergeDomains: values["merge-domains"],
    hostname: values.hostname,
    port: integerOf(values.port, "port") ?? 8080,
    tls: tlsOf(values),
    threads: integerOf(values.threads, "threads") ?? cores,
    drainDelay: millisecondsOf(values["drain-delay"] ?? "5s", "drain-delay"),
    capacity: integerOf(values.capacity, "capacity"),
    redis: redisOf(values),
    token: values.token,
    trustedProxies: values.trust?.split(","),
    shadow: values.shadow,
    openTelemetry: values["open-telemetry"],
    responseHeaders: values["response-headers"],
    ipv6Prefix: integerOf(values["ipv6-prefix"], "ipv6-prefix"),
    lookupCache: { onFailure: lookupFailureOf(values) },
  };
}
