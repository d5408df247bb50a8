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

import { hintAt } from "../../core/application_support.ts";
import { adviseCommand } from "./advise_command.ts";
import {
  type Command,
  failureText,
  isUsageError,
  readOptions,
  type Tools,
  usageError,
} from "./command_options.ts";
import { doctorCommand } from "./doctor_command.ts";
import { explainCommand } from "./explain_command.ts";
import { commandText, overviewText } from "./help_text.ts";
import { lintCommand } from "./lint_command.ts";
import { replayCommand } from "./replay_command.ts";
import { serveCommand } from "./serve_command.ts";

/** The version of this package; a test holds it to `deno.json`. */
const VERSION = "0.1.0";

/** The parts of the outside world that a command receives. */
export interface CommandWorld {
  /** Prints a line for people. */
  readonly print?: ((line: string) => void) | undefined;
  /** Prints an error message. */
  readonly complain?: ((line: string) => void) | undefined;
  /** The environment; default is the process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Ends `serve`, with the name of the signal; default at SIGINT or SIGTERM. */
  readonly ended?: Promise<unknown> | undefined;
}

const COMMANDS: readonly Command[] = [
  serveCommand,
  lintCommand,
  explainCommand,
  adviseCommand,
  replayCommand,
  doctorCommand,
];

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
    return await run(args, tools);
  } catch (error) {
    if (!isUsageError(error)) {
      tools.complain(failureText(error));
      return 1;
    }
    const name = COMMANDS.some(({ name }) => name === args[0]) ? `${args[0]} ` : "";
    tools.complain(`${failureText(error)} (tidegate ${name}--help)`);
    return 2;
  }
}

async function run(args: readonly string[], tools: Tools): Promise<number> {
  const [name = "", ...rest] = args;
  if (name === "--version") {
    tools.print(VERSION);
    return 0;
  }
  if (name === "" || name === "--help" || name === "-h") {
    tools.print(overviewText(COMMANDS));
    return name === "" ? 2 : 0;
  }
  const command = COMMANDS.find((each) => each.name === name);
  if (command === undefined) throw unknownCommand(name);
  const { values, operands } = readOptions(command, rest, tools.env);
  if (values["help"] !== true && values["version"] !== true) {
    return await command.run(operands, values, tools);
  }
  tools.print(values["help"] === true ? commandText(command) : VERSION);
  return 0;
}

function unknownCommand(name: string): Error {
  if (name.startsWith("-")) {
    return usageError(`the command must come before its options, but ${name} comes first`);
  }
  return usageError(`unknown command ${name}${hintAt(name, COMMANDS.map(({ name }) => name))}`);
}

function onReload(reload: () => void): () => void {
  // Windows has no such signal.
  process.on("SIGHUP", reload);
  return () => void process.off("SIGHUP", reload);
}

/**
 * The name of the first signal that ends the process. A second signal ends it at once, as if there
 * were no listener. A second signal right after the first does not count, because npx repeats a
 * signal that the terminal has already sent.
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
