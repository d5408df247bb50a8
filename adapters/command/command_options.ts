/*
 * The options of the command: each is defined once, in the table of its command, which parsing and
 * help use.
 */

import { parseArgs } from "node:util";

import { hintAt } from "../../core/application_support.ts";
import { errorText } from "../service/log.ts";

/** An option in the table of its command. */
export interface Option {
  /** The option's line in the help. */
  readonly text: string;
  /**
   * The value's text in the help: an example, the default, or the kind of value. An option without
   * this text, and without choices, takes no value.
   */
  readonly value?: string;
  /** The values that it may have. */
  readonly choices?: readonly string[];
  /** Whether it may be given several times. */
  readonly multiple?: boolean;
  readonly short?: string;
}

/** The options of a command by their names. */
export type OptionTable = Readonly<Record<string, Option>>;

type ValueOf<Given extends Option> = Given extends { readonly multiple: true } ? readonly string[]
  : Given extends { readonly choices: readonly (infer Choice)[] } ? Choice
  : Given extends { readonly value: string } ? string
  : boolean;

/** The values of the options of a table. */
export type ValuesOf<Table extends OptionTable> = {
  readonly [Name in keyof Table]?: ValueOf<Table[Name]> | undefined;
};

/** The parts of the outside world that a command uses. */
export interface Tools {
  readonly print: (line: string) => void;
  readonly complain: (line: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly ended: () => Promise<unknown>;
  /** Calls back whenever the rules must be read again; returns a function that ends this. */
  readonly onReload: (reload: () => void) => () => void;
}

/** A command, with its table of options. */
export interface Command {
  readonly name: string;
  /** The text after the name in the help. */
  readonly operands: string;
  /** The purpose of the command, in a line. */
  readonly summary: string;
  /** A description of its operands, in lines. */
  readonly about: string;
  readonly options: OptionTable;
  /** When its exit status is 0, and when it is 1. */
  readonly statuses: readonly [well: string, not: string];
  run(operands: readonly string[], values: object, tools: Tools): Promise<number>;
}

/** A command whose values have the types that its table says. */
export function defineCommand<const Table extends OptionTable>(
  command: Omit<Command, "options" | "run"> & {
    readonly options: Table;
    run(operands: readonly string[], values: ValuesOf<Table>, tools: Tools): Promise<number>;
  },
): Command {
  return command;
}

/** The options that every command has. */
export const COMMON_OPTIONS = {
  help: { short: "h", text: "print this help" },
  version: { text: "print the version" },
} as const;

/** The options for how rules are read, wherever they come from. */
export const RULE_OPTIONS = {
  format: { choices: ["auto", "tidegate", "envoy"], text: "the format of the rules; default auto" },
  "merge-domains": { text: "let several files add rules to the same domain" },
} as const;

/** The token of a service that requires one. */
export const TOKEN_OPTION = {
  value: "TEXT",
  text: "the token required to change anything or to see keys",
} as const;

/** Whether missing options of a command come from the environment: those that read rules do. */
export function readsVariables(options: OptionTable): boolean {
  return options["merge-domains"] !== undefined;
}

/** Parses the arguments of a command. */
export function readOptions(
  command: Command,
  args: readonly string[],
  env: Tools["env"],
): { values: Readonly<Record<string, unknown>>; operands: readonly string[] } {
  const table: OptionTable = { ...command.options, ...COMMON_OPTIONS };
  const parsed = parseOptions(args, table);
  const values = parsed.values["help"] !== true && readsVariables(table)
    ? { ...ofEnvironment(table, env), ...parsed.values }
    : parsed.values;
  for (const [name, value] of Object.entries(values)) checkChoice(name, table[name], value);
  return { values, operands: parsed.positionals };
}

function parseOptions(args: readonly string[], options: OptionTable) {
  const { values, positionals, tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(
      Object.entries(options).map(([name, option]) => [name, {
        ...option,
        type: takesValue(option) ? "string" : "boolean",
      }]),
    ),
    allowPositionals: true,
    // The errors are ours, because those of runtimes differ.
    strict: false,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const { name, rawName, value, inlineValue } = token;
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    if (option === undefined) {
      const hint = hintAt(name, Object.keys(options), "--");
      throw usageError(`unknown option ${rawName}${hint}`);
    }
    if (!takesValue(option)) {
      if (value !== undefined) throw usageError(`${rawName} takes no value`);
    } else if (value === undefined || (inlineValue === false && /^-./.test(value))) {
      throw usageError(`${rawName} needs a value, such as ${exampleOf(option)}`);
    }
  }
  return { values: values as Readonly<Record<string, unknown>>, positionals };
}

/** Whether a value follows an option. */
function takesValue({ value, choices }: Option): boolean {
  return (value ?? choices) !== undefined;
}

/** An option's value in the help. */
export function exampleOf({ choices, value = "" }: Option): string {
  return choices?.join("|") ?? value;
}

function checkChoice(name: string, option: Option | undefined, value: unknown): void {
  const { choices } = option ?? {};
  if (choices === undefined || choices.includes(String(value))) return;
  const all = `${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`;
  throw usageError(`--${name} must be ${all}, not ${value}`);
}

/** The options that the environment names: `TIDEGATE_DRAIN_DELAY` is `--drain-delay`. */
function ofEnvironment(table: OptionTable, env: Tools["env"]): Readonly<Record<string, unknown>> {
  const named = Object.entries(table).flatMap(([name, option]) => {
    const variable = `TIDEGATE_${name.toUpperCase().replaceAll("-", "_")}`;
    const value = env[variable];
    return value === undefined ? [] : [[name, valueOf(name, option, value, variable)] as const];
  });
  return Object.fromEntries(named);
}

/** The value of a variable. */
function valueOf(name: string, option: Option, text: string, variable: string): string | boolean {
  if (takesValue(option)) return text;
  if (text === "true" || text === "false") return text === "true";
  throw usageError(`${name} in ${variable} must be true or false, not ${text}`);
}

/** The whole number of an option. */
export function integerOf(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw usageError(`--${name} must be a whole number, not ${text}`);
}

/** The number of an option, fractions included. */
export function numberOf(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,15}(?:\.\d{1,15})?$/.test(text)) return Number(text);
  throw usageError(`--${name} must be a number, not ${text}`);
}

/** The milliseconds of an option: `300ms`, `5s`, `0`. */
export function millisecondsOf(text: string, name: string): number {
  const match = /^(\d{1,9})(ms|s|m)$|^0$/.exec(text);
  if (match === null) {
    throw usageError(`--${name} must be a duration such as 300ms, 5s or 0, not ${text}`);
  }
  return Number(match[1] ?? 0) * (match[2] === "m" ? 60_000 : match[2] === "s" ? 1_000 : 1);
}

/**
 * The URL of a Redis that an option names. A wrong one is not repeated, because it may hold a password.
 *
 * @param option Its name, as the error has it.
 */
export function redisUrlOf(text: string | undefined, option: string): string | undefined {
  if (text === undefined || (/^rediss?:\/\/./.test(text) && URL.canParse(text))) return text;
  throw usageError(`${option} must be a URL such as redis://host:port`);
}

/** The error for wrong arguments, with the exit status 2. */
export function usageError(message: string): Error {
  const error = new Error(`tidegate: ${message}`);
  error.name = "UsageError";
  return error;
}

/** Whether an error is about wrong arguments. */
export function isUsageError(error: unknown): boolean {
  return error instanceof Error && error.name === "UsageError";
}

/** An error in a line, with its causes, and with advice if the system refused something. */
export function failureText(error: unknown): string {
  if (!(error instanceof Error)) return errorText(error);
  const system = error as SystemError;
  const advise = ADVICE[String(system.code)];
  if (advise !== undefined) return advise(system);
  return error.cause === undefined
    ? error.message
    : `${error.message}: ${failureText(error.cause)}`;
}

interface SystemError extends NodeJS.ErrnoException {
  readonly address?: string;
  readonly port?: number;
}

/** Advice for errors of the system, by their code. */
const ADVICE: Readonly<Record<string, (error: SystemError) => string>> = {
  ENOENT: ({ path = "" }) => `${path} does not exist (ENOENT): check the path`,
  EISDIR: () => `it is a folder (EISDIR): give a file in it instead`,
  EACCES: ({ message }) =>
    `${message}: permission denied; change the permissions, or use a port above 1023`,
  EADDRINUSE: ({ message, address, port }) =>
    `${port === undefined ? message : `port ${port} on ${address} is in use`} (EADDRINUSE): ` +
    "stop the program that uses it, or choose another port with --port, or --grpc-port for gRPC " +
    "(0 picks a free one)",
};
