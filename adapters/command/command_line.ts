/**
 * The command `tidegate`: to serve rules, to check them, to ask why, and to try limits on a log.
 *
 * @example
 * ```ts
 * import { commandLine } from "tidegate/serve";
 * import assert from "node:assert/strict";
 *
 * const lines: string[] = [];
 * const status = await commandLine(["--help"], { print: (line) => lines.push(line) });
 * assert.equal(status, 0);
 * assert.match(lines.join("\n"), /tidegate serve/);
 * ```
 *
 * @module
 */

import { availableParallelism } from "node:os";
import process from "node:process";
import { parseArgs } from "node:util";

import { withTimeout } from "../../core/toolkit.ts";
import {
  type Descriptor,
  explainMatch,
  explainReplaced,
  explainVerdict,
  fileSource,
  problemText,
  readRules,
  type RedisRulesClient,
  redisSource,
  type RuleDocument,
  type RuleEngine,
  ruleEngine,
  type RuleFormat,
  type RuleSet,
  type RuleSource,
  yamlReader,
} from "../rules/rules.ts";
import { replayCommand } from "./replay_command.ts";
import { loadRedis } from "../service/load_redis.ts";
import { errorText, lineLog } from "../service/log.ts";
import { serve } from "../service/serve.ts";
import { type RedisOptions, storeOnRedis } from "../service/store_on_redis.ts";
import { sharesPort } from "../service/http/shared_port.ts";

/** What a command is given of the world around it. */
export interface CommandWorld {
  /** Prints a line for people. */
  readonly print?: ((line: string) => void) | undefined;
  /** Prints a line of complaint. */
  readonly complain?: ((line: string) => void) | undefined;
  /** The environment; default that of the process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Ends `serveHeads`; default at SIGINT or SIGTERM. */
  readonly ended?: Promise<unknown> | undefined;
}

const HELP = `tidegate serve RULES   answer HTTP, Envoy and proxies from these rules
tidegate lint RULES... check rule files; 0 if they can be used, 1 if not
tidegate explain RULES key=value... [+ key=value...]
                       which rules hold for a descriptor, and what they say
tidegate replay LOG... what limits would have done to a log: tidegate replay --help

RULES is a YAML or JSON file, a folder of them, or redis://host:port (a hash tidegate:rules).

of all:    --format auto|tidegate|envoy   the form of the rules
           --merge-domains                files may add to each other's domains
of serve:  --hostname 127.0.0.1           where to listen
           --port 8080                    for HTTP; 0 for a free one
           --grpc-port 8081               for Envoy's gRPC; --no-grpc for none
           --threads N                    that serve HTTP; by default one for each core, at most 8;
                                          one on Node before 22.12
           --capacity 1000000             keys of the embedded store
           --redis URL                    keep counters in Redis
           --on-unavailable throw|allow|deny   what decides when Redis does not answer
           --token TEXT                   what calls must bring to change anything; or TIDEGATE_TOKEN
           --trust loopback,10.0.0.0/8    proxies whose word on client addresses is believed
of lint:   --strict                       warnings count as errors
of explain: --domain NAME --cost 1
           --redis URL                    look at the counters in Redis
           --service URL                  ask a running service`;

const OPTIONS = {
  format: { type: "string" },
  "merge-domains": { type: "boolean" },
  hostname: { type: "string" },
  port: { type: "string" },
  "grpc-port": { type: "string" },
  "no-grpc": { type: "boolean" },
  threads: { type: "string" },
  capacity: { type: "string" },
  redis: { type: "string" },
  "on-unavailable": { type: "string" },
  token: { type: "string" },
  trust: { type: "string" },
  strict: { type: "boolean" },
  domain: { type: "string" },
  cost: { type: "string" },
  service: { type: "string" },
  help: { type: "boolean", short: "h" },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>["values"];

interface Tools {
  readonly print: (line: string) => void;
  readonly complain: (line: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly ended: () => Promise<unknown>;
}

/**
 * Runs the command.
 *
 * @param args The arguments, without the names of runtime and script.
 * @returns The exit status: 0 if all is well, 1 if not, 2 if the arguments are wrong.
 */
export async function commandLine(
  args: readonly string[],
  world: CommandWorld = {},
): Promise<number> {
  const tools: Tools = {
    print: world.print ?? ((line) => process.stdout.write(`${line}\n`)),
    complain: world.complain ?? ((line) => process.stderr.write(`${line}\n`)),
    env: world.env ?? process.env,
    ended: () => world.ended ?? endOfProcess(),
  };
  try {
    if (args[0] === "replay") return await runReplay(args.slice(1), tools);
    const { values, positionals } = parse(args);
    const [command, ...operands] = positionals;
    if (values.help === true || command === undefined) {
      tools.print(HELP);
      return values.help === true ? 0 : 2;
    }
    switch (command) {
      case "serve":
        return await runServe(operands, values, tools);
      case "lint":
        return await runLint(operands, values, tools);
      case "explain":
        return await runExplain(operands, values, tools);
      default:
        throw usage(`there is no command ${command}`);
    }
  } catch (error) {
    tools.complain(errorText(error));
    return error instanceof Error && error.name === "UsageError" ? 2 : 1;
  }
}

function parse(args: readonly string[]): { values: Values; positionals: string[] } {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw usage(errorText(error));
  }
}

async function runReplay(args: readonly string[], tools: Tools): Promise<number> {
  try {
    return await replayCommand(args, tools.print);
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    throw String(code).startsWith("ERR_PARSE_ARGS") ? usage(errorText(error)) : error;
  }
}

async function runServe(
  operands: readonly string[],
  values: Values,
  tools: Tools,
): Promise<number> {
  const [rules, ...more] = operands;
  if (rules === undefined || more.length > 0) throw usage("serve takes one operand: the rules");
  const { print, env } = tools;
  // Told before the start, so that no signal comes too soon.
  const ended = tools.ended();
  const log = lineLog((line) => print(line.trimEnd()));
  const source = await sourceOf(
    rules,
    (error) => log({ event: "redis-error", error: errorText(error) }),
  );
  const starting = serve({
    rules: source,
    format: formatOf(values),
    mergeDomains: values["merge-domains"],
    hostname: values.hostname,
    port: integerOf(values.port, "port") ?? 8080,
    grpcPort: values["no-grpc"] === true
      ? undefined
      : integerOf(values["grpc-port"], "grpc-port") ??
        8081,
    threads: integerOf(values.threads, "threads") ??
      (sharesPort() ? Math.min(8, availableParallelism()) : 1),
    capacity: integerOf(values.capacity, "capacity"),
    redis: redisOf(values),
    token: values.token ?? env.TIDEGATE_TOKEN,
    trustedProxies: values.trust?.split(","),
    log,
  });
  const isStarted = await Promise.race([starting.then(() => true), ended.then(() => false)]);
  // Told to end while it starts: what it waits for is let go of.
  if (!isStarted) await source.close?.();
  try {
    const service = await starting;
    await ended;
    await service.stop();
  } catch (error) {
    if (isStarted) throw error;
  }
  return 0;
}

async function runLint(operands: readonly string[], values: Values, tools: Tools): Promise<number> {
  if (operands.length === 0) throw usage("lint takes the rules to check");
  let status = 0;
  for (const path of operands) {
    const { rules, problems } = await readAt(path, values);
    for (const problem of problems) tools.complain(problemText(problem));
    if (rules === undefined || (values.strict === true && problems.length > 0)) status = 1;
    else {tools.print(
        `${path}: ${rules.rules.length} rules in ${[...rules.domains.keys()].join(", ")}`,
      );}
  }
  return status;
}

async function runExplain(
  operands: readonly string[],
  values: Values,
  tools: Tools,
): Promise<number> {
  const [path, ...words] = operands;
  if (path === undefined || words.length === 0) {
    throw usage("explain takes the rules and a descriptor: explain rules.yaml user=42");
  }
  const { rules, problems } = await readAt(path, values);
  if (rules === undefined) {
    for (const problem of problems) tools.complain(problemText(problem));
    return 1;
  }
  const domain = domainOf(rules, values.domain);
  const descriptors = descriptorsOf(words);
  tools.print(`domain ${domain}`);
  for (const { entries } of descriptors) {
    tools.print(`descriptor ${entries.map((entry) => entry.join("=")).join(" ")}`);
    explainMatch(rules.domains.get(domain)!, entries).forEach(tools.print);
  }
  const cost = integerOf(values.cost, "cost") ?? 1;
  const request = { domain, descriptors, cost };
  if (values.service !== undefined) {
    tools.print(`${values.service} says: ${await askService(values.service, request)}`);
    return 0;
  }
  await withEngine(rules, values, async (engine) => {
    const redis = values.redis;
    tools.print(redis === undefined ? "for keys never used:" : `with the counters of ${redis}:`);
    explainReplaced(rules.domains.get(domain)!, descriptors).forEach(tools.print);
    explainVerdict(await engine.peek(request), descriptors).forEach(tools.print);
  });
  return 0;
}

async function withEngine(
  rules: RuleSet,
  values: Values,
  work: (engine: RuleEngine) => Promise<void>,
): Promise<void> {
  const redis = redisOf(values);
  if (redis === undefined) return await work(ruleEngine({ rules }));
  // A person waits longer than a request may.
  const store = await storeOnRedis({ ...redis, deadline: 5_000 }, () => {});
  try {
    await work(ruleEngine({ rules, store }));
  } finally {
    await store.close();
  }
}

async function askService(url: string, request: object): Promise<string> {
  const response = await fetch(new URL("/v1/peek", url), {
    method: "POST",
    body: JSON.stringify(request),
  });
  return await response.text();
}

async function readAt(path: string, values: Values) {
  const source = await sourceOf(path);
  let documents: readonly RuleDocument[];
  try {
    documents = await source.load();
  } catch (cause) {
    throw new Error(`Cannot load rules from ${source.name}`, { cause });
  } finally {
    await source.close?.();
  }
  const options = { format: formatOf(values), mergeDomains: values["merge-domains"] };
  return readRules(documents, await yamlReader(), options);
}

/** Milliseconds for which a service that starts dials Redis for its rules. */
const FIRST_DIAL = 5_000;

/**
 * The source of the rules at a path.
 *
 * @param onError Told of errors of a connection, which is dialled again; without it the first one
 * is the end.
 */
async function sourceOf(path: string, onError?: (error: unknown) => void): Promise<RuleSource> {
  if (!/^rediss?:/.test(path)) return fileSource(path);
  const { createClient } = await loadRedis();
  // While the connection is down a read fails at once, rather than wait and be kept.
  const client = createClient({ url: path, disableOfflineQueue: true });
  const source = redisSource(client as unknown as RedisRulesClient);
  let dialled: Promise<unknown> | undefined;
  let giveUp: (error: unknown) => void = () => {};
  let last: unknown;
  client.on("error", (error) => {
    last = error;
    if (onError === undefined) giveUp(error);
    else onError(error);
  });

  async function dial(): Promise<void> {
    const ended = new Promise<never>((_resolve, reject) => giveUp = reject);
    try {
      await withTimeout<unknown>(Promise.race([client.connect(), ended]), FIRST_DIAL, () => {
        throw new Error(`Cannot dial as it took over ${FIRST_DIAL} ms`);
      });
    } catch (error) {
      // The path may hold a password.
      const reason = errorText(last ?? error);
      throw new Error(`Cannot reach Redis at ${new URL(path).host}: ${reason}`);
    }
  }

  return {
    ...source,
    async load() {
      await (dialled ??= dial());
      return await source.load();
    },
    close() {
      giveUp(new Error("the source was closed"));
      if (client.isOpen) client.destroy();
      return Promise.resolve();
    },
  };
}

function domainOf(rules: RuleSet, wanted: string | undefined): string {
  const known = [...rules.domains.keys()];
  const domain = wanted ?? (known.length === 1 ? known[0]! : "");
  if (rules.domains.has(domain)) return domain;
  throw usage(`--domain must be one of ${known.join(", ")}`);
}

function descriptorsOf(words: readonly string[]): Descriptor[] {
  const groups: [string, string][][] = [[]];
  for (const word of words) {
    if (word === "+") {
      groups.push([]);
      continue;
    }
    const equals = word.indexOf("=");
    if (equals < 1) throw usage(`a descriptor is made of key=value, not ${word}`);
    groups.at(-1)!.push([word.slice(0, equals), word.slice(equals + 1)]);
  }
  if (groups.some((entries) => entries.length === 0)) throw usage("a descriptor is empty");
  return groups.map((entries) => ({ entries }));
}

function formatOf({ format = "auto" }: Values): RuleFormat {
  if (format === "auto" || format === "tidegate" || format === "envoy") return format;
  throw usage("--format must be auto, tidegate or envoy");
}

function redisOf(values: Values): RedisOptions | undefined {
  const { redis: url, "on-unavailable": onUnavailable = "throw" } = values;
  if (onUnavailable !== "throw" && onUnavailable !== "allow" && onUnavailable !== "deny") {
    throw usage("--on-unavailable must be throw, allow or deny");
  }
  return url === undefined ? undefined : { url, onUnavailable };
}

function integerOf(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw usage(`--${name} must be a whole number, not ${text}`);
}

function usage(message: string): Error {
  const error = new Error(`tidegate: ${message} (tidegate --help)`);
  error.name = "UsageError";
  return error;
}

function endOfProcess(): Promise<unknown> {
  return new Promise((resolve) => {
    process.once("SIGINT", resolve);
    process.once("SIGTERM", resolve);
  });
}
