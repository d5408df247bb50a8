/*
 * The options of the command, as they are parsed, and what commands make of them.
 */

import { parseArgs } from "node:util";

import type { RuleFormat } from "../rules/rules.ts";
import { errorText } from "../service/log.ts";
import type { RedisOptions } from "../service/store_on_redis.ts";

const OPTIONS = {
  format: { type: "string" },
  "merge-domains": { type: "boolean" },
  hostname: { type: "string" },
  port: { type: "string" },
  "grpc-port": { type: "string" },
  "no-grpc": { type: "boolean" },
  threads: { type: "string" },
  "drain-delay": { type: "string" },
  capacity: { type: "string" },
  redis: { type: "string" },
  "on-unavailable": { type: "string" },
  token: { type: "string" },
  trust: { type: "string" },
  "ipv6-prefix": { type: "string" },
  "on-lookup-failure": { type: "string" },
  strict: { type: "boolean" },
  domain: { type: "string" },
  cost: { type: "string" },
  service: { type: "string" },
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

/** Parses the arguments. */
export function parseOptions(args: readonly string[]): { values: Values; positionals: string[] } {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw usageError(errorText(error));
  }
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
