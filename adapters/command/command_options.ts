/*
 * The options of the command, as they are parsed, and what commands make of them.
 */

import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";

import { type RuleFormat, yamlReader } from "../rules/rules.ts";
import { errorText } from "../service/log.ts";
import type { RedisOptions } from "../service/store_on_redis.ts";

const OPTIONS = {
  format: { type: "string" },
  "merge-domains": { type: "boolean" },
  hostname: { type: "string" },
  port: { type: "string" },
  "grpc-port": { type: "string" },
  "no-grpc": { type: "boolean" },
  "tls-cert": { type: "string" },
  "tls-key": { type: "string" },
  "tls-ca": { type: "string" },
  threads: { type: "string" },
  "drain-delay": { type: "string" },
  capacity: { type: "string" },
  redis: { type: "string" },
  "on-unavailable": { type: "string" },
  token: { type: "string" },
  trust: { type: "string" },
  "ipv6-prefix": { type: "string" },
  shadow: { type: "boolean" },
  "open-telemetry": { type: "boolean" },
  "response-headers": { type: "boolean" },
  "on-lookup-failure": { type: "string" },
  strict: { type: "boolean" },
  domain: { type: "string" },
  cost: { type: "string" },
  service: { type: "string" },
  config: { type: "string" },
  "log-level": { type: "string" },
  version: { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;

/** The values of the options. */
export type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>["values"];

/** What a command uses of the world around it. */
export interface Tools {
  readonly print: (line: string) => void;
  readonly complain: (line: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly ended: () => Promise<unknown>;
  /** Calls back whenever the rules are to be read again; returns what ends that. */
  readonly onReload: (reload: () => void) => () => void;
}

function parseOptions(args: readonly string[]): { values: Values; positionals: string[] } {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw usageError(errorText(error));
  }
}

/** Parses the arguments; what they leave out comes from the environment, then from `--config`. */
export async function readOptions(
  args: readonly string[],
  env: Tools["env"],
): Promise<{ values: Values; positionals: string[] }> {
  const { values, positionals } = parseOptions(args);
  const known = { ...ofEnvironment(env), ...values };
  const config = known.config === undefined ? {} : await readConfig(known.config);
  return { values: { ...config, ...known }, positionals };
}

/** The options that the environment names: `TIDEGATE_DRAIN_DELAY` is `--drain-delay`. */
function ofEnvironment(env: Tools["env"]): Values {
  const named = Object.keys(OPTIONS).flatMap((name) => {
    const variable = `TIDEGATE_${name.toUpperCase().replaceAll("-", "_")}`;
    const value = env[variable];
    return value === undefined ? [] : [[name, valueOf(name, value, variable)] as const];
  });
  return Object.fromEntries(named);
}

/** The options that a file of JSON or YAML holds: `drain-delay: 5s`. */
async function readConfig(path: string): Promise<Values> {
  const text = await readFile(path, "utf8");
  const isJson = /^\s*\{/.test(text);
  const data: unknown = isJson ? JSON.parse(text) : (await yamlReader()).read(text, false).data;
  if (typeof data !== "object" || data === null) {
    throw usageError(`--config ${path} must hold a map of options`);
  }
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [name, valueOf(name, String(value), path)]),
  );
}

/** The value of an option that is no argument. */
function valueOf(name: string, text: string, from: string): string | boolean {
  if (!Object.hasOwn(OPTIONS, name)) throw usageError(`there is no option ${name}, in ${from}`);
  if (OPTIONS[name as keyof typeof OPTIONS].type === "string") return text;
  if (text === "true" || text === "false") return text === "true";
  throw usageError(`${name} must be true or false, not ${text}, in ${from}`);
}

/** The form of the rules. */
export function formatOf({ format = "auto" }: Values): RuleFormat {
  if (format === "auto" || format === "tidegate" || format === "envoy") return format;
  throw usageError("--format must be auto, tidegate or envoy");
}

/** How Redis is used, where it is. */
export function redisOf(values: Values): RedisOptions | undefined {
  const { redis: url, "on-unavailable": onUnavailable = "throw" } = values;
  if (onUnavailable !== "throw" && onUnavailable !== "allow" && onUnavailable !== "deny") {
    throw usageError("--on-unavailable must be throw, allow or deny");
  }
  return url === undefined ? undefined : { url, onUnavailable };
}

/** The whole number of an option. */
export function integerOf(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw usageError(`--${name} must be a whole number, not ${text}`);
}

/** The milliseconds of an option: `300ms`, `5s`, `0`. */
export function millisecondsOf(text: string, name: string): number {
  const match = /^(\d{1,9})(ms|s|m)$|^0$/.exec(text);
  if (match === null) throw usageError(`--${name} must be like 300ms, 5s or 0, not ${text}`);
  return Number(match[1] ?? 0) * (match[2] === "m" ? 60_000 : match[2] === "s" ? 1_000 : 1);
}

/** The error of wrong arguments, with a status of 2. */
export function usageError(message: string): Error {
  const error = new Error(`tidegate: ${message} (tidegate --help)`);
  error.name = "UsageError";
  return error;
}
