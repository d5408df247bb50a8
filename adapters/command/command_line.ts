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

import process from "node:process";
import { setTimeout } from "node:timers";

import { errorText } from "../service/log.ts";
import { readOptions, type Tools, usageError } from "./command_options.ts";
import { runExplain } from "./explain_command.ts";
import { runLint } from "./lint_command.ts";
import { replayCommand } from "./replay_command.ts";
import { runServe } from "./serve_command.ts";
import { simulateCommand } from "./simulate_command.ts";
import { VERSION } from "./version.ts";

/** What a command is given of the world around it. */
export interface CommandWorld {
  /** Prints a line for people. */
  readonly print?: ((line: string) => void) | undefined;
  /** Prints a line of complaint. */
  readonly complain?: ((line: string) => void) | undefined;
  /** The environment; default that of the process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Ends `serve`, with the name of the signal; default at SIGINT or SIGTERM. */
  readonly ended?: Promise<unknown> | undefined;
}

const HELP = `tidegate serve RULES   answer HTTP, Envoy and proxies from these rules
tidegate lint RULES... check rule files; 0 if they can be used, 1 if not
tidegate explain RULES key=value... [+ key=value...]
                       which rules hold for a descriptor, and what they say
tidegate replay LOG... what limits would have done to a log: tidegate replay --help
tidegate simulate KIND traffic to try limits on: tidegate simulate --help

RULES is a YAML or JSON file, a folder of them, or redis://host:port (a hash tidegate:rules);
serve takes rules.yaml, rules.yml or rules.json of this folder unless told otherwise.

of all:    --format auto|tidegate|envoy   the form of the rules
           --merge-domains                files may add to each other's domains
           --config FILE                  options in JSON or YAML: { "drain-delay": "5s" }
           --version
           Every option may be a variable instead: --drain-delay is TIDEGATE_DRAIN_DELAY. Arguments go
           before variables, those before the file.
of serve:  --hostname 127.0.0.1           where to listen
           --port 8080                    for HTTP; 0 for a free one
           --grpc-port 8081               for Envoy's gRPC, where its packages are installed;
                                          --no-grpc for none
           --tls-cert FILE --tls-key FILE serve TLS, on both ports, by these PEM files
           --tls-ca FILE                  whose certificates clients must have
           --threads N                    that serve; by default one for each core, at most 8;
                                          one on Node before 22.12
           --capacity 1000000             keys of the embedded store
           --drain-delay 5s               for how long it takes calls after SIGTERM, not ready any more
           --redis URL                    keep counters in Redis
           --on-unavailable throw|allow|deny   what decides when Redis does not answer
           --on-lookup-failure throw|default   whether a rule that waits for a key's own limits
                                          fails without them (503), or decides by its own
           --token TEXT                   what calls must bring to change anything or to see a key
           --trust loopback,10.0.0.0/8    proxies whose word on client addresses is believed
           --ipv6-prefix 64               bits of an IPv6 address that count
           --log-level info|error|off     which events are printed
           --shadow                       refuse nothing, and report what would have been
           --open-telemetry               a span and metrics for each decision, by @opentelemetry/api
           --response-headers             have Envoy add RateLimit fields to its answers
of lint:   --strict                       warnings count as errors
of explain: --domain NAME --cost 1
           --redis URL                    look at the counters in Redis
           --service URL                  ask a running service; --token as above`;

const COMMANDS: ReadonlyMap<string, typeof runServe> = new Map([
  ["serve", runServe],
  ["lint", runLint],
  ["explain", runExplain],
]);

/** Commands with options of their own. */
const OWN_OPTIONS: ReadonlyMap<string, typeof replayCommand> = new Map([
  ["replay", replayCommand],
  ["simulate", simulateCommand],
]);

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
    onReload,
  };
  try {
    const own = OWN_OPTIONS.get(args[0] ?? "");
    return own === undefined ? await run(args, tools) : await runOwn(own, args.slice(1), tools);
  } catch (error) {
    tools.complain(errorText(error));
    return error instanceof Error && error.name === "UsageError" ? 2 : 1;
  }
}

async function run(args: readonly string[], tools: Tools): Promise<number> {
  const { values, positionals } = await readOptions(args, tools.env);
  const [command, ...operands] = positionals;
  if (values.version === true) {
    tools.print(VERSION);
    return 0;
  }
  if (values.help === true || command === undefined) {
    tools.print(HELP);
    return values.help === true ? 0 : 2;
  }
  const runCommand = COMMANDS.get(command);
  if (runCommand === undefined) throw usageError(`there is no command ${command}`);
  return await runCommand(operands, values, tools);
}

async function runOwn(
  command: typeof replayCommand,
  args: readonly string[],
  tools: Tools,
): Promise<number> {
  try {
    return await command(args, tools);
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    throw String(code).startsWith("ERR_PARSE_ARGS") ? usageError(errorText(error)) : error;
  }
}

function onReload(reload: () => void): () => void {
  // Windows has no such signal.
  process.on("SIGHUP", reload);
  return () => void process.off("SIGHUP", reload);
}

/**
 * The name of the first signal that ends the process. Another one ends it at once, as if nobody
 * listened; but not in the same moment, as npx repeats what the terminal has sent already.
 */
function endOfProcess(): Promise<unknown> {
  const signals = ["SIGINT", "SIGTERM"] as const;
  return new Promise((resolve) => {
    function end(signal: NodeJS.Signals): void {
      resolve(signal);
      setTimeout(() => signals.forEach((each) => process.off(each, end)), 500).unref();
    }
    for (const signal of signals) process.on(signal, end);
  });
}
