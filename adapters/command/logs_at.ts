/*
 * The logs at the paths that a command receives, and the options that say how they are read.
 */

import { Buffer } from "node:buffer";
import { access, constants, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import process from "node:process";

import { FORMAT_NAMES } from "../replay/log/layout.ts";
import type { LogFormat, NamedLog, ReadTraceOptions } from "../replay/replay.ts";
import type { ValuesOf } from "./command_options.ts";

interface WithValue {
  readonly value: string;
  readonly text: string;
}

/** How logs are read. */
export const LOG_OPTIONS:
  & {
    readonly format: { readonly choices: readonly LogFormat[]; readonly text: string };
    readonly where: WithValue & { readonly multiple: true };
  }
  & Readonly<
    Record<"pattern" | "time" | "key" | "proxies" | "cost", WithValue>
  > = {
    format: { choices: FORMAT_NAMES, text: "the format of the log; detected by default" },
    pattern: {
      value: "TEXT",
      text:
        "the pattern of the lines: nginx's log_format or Apache's LogFormat, as you configured it",
    },
    time: { value: "NAME", text: "the column, or the path in a JSON object, that holds the time" },
    key: {
      value: "NAME",
      text:
        "what identifies a client: a column, a path, or ip/56 to count IPv6 networks of 56 bits; " +
        "default the client's address, with IPv6 networks of 64",
    },
    proxies: {
      value: "10.0.0.0/8,192.0.2.1",
      text:
        "your own proxies with public addresses; in a list of forwarded addresses, the client is " +
        "the right-most address that is neither private nor one of them",
    },
    cost: {
      value: "NAME[,NAME]",
      text: "the columns or paths whose sum is the cost of a request; default 1",
    },
    where: {
      value: "NAME=VALUE",
      multiple: true,
      text:
        "read only lines with this value: path=/api/*, method=POST, status=401, or any column; " +
        "name!=value excludes a value; of several, all must match, or any if the name is the same",
    },
  };

type LogValues = ValuesOf<typeof LOG_OPTIONS>;

/** The logs at these paths, and how they are read. */
export function logsAt(
  paths: readonly string[],
  values: LogValues,
): readonly [logs: readonly NamedLog[], options: ReadTraceOptions] {
  return [paths.map((name) => ({ name, log: openLog(name) })), readOptions(values)];
}

/** The arguments of `replay` that read the same logs in the same way, for a shell. */
export function logArguments(paths: readonly string[], values: LogValues): string {
  const names = Object.keys(LOG_OPTIONS) as (keyof LogValues)[];
  const options = names.flatMap((name) =>
    [values[name] ?? []].flat().flatMap((value) => [`--${name}`, shellWord(value)])
  );
  return [...paths.map((path) => path === "-" ? "LOG" : shellWord(path)), ...options].join(" ");
}

function shellWord(text: string): string {
  return /^[\w.,:=@%+/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function readOptions(values: LogValues): ReadTraceOptions {
  const { format, pattern, time, key, proxies, cost, where } = values;
  return {
    format: format as LogFormat | undefined,
    pattern,
    columns: { time },
    key,
    proxies: proxies?.split(","),
    cost: cost?.split(","),
    where,
  };
}

/**
 * A log's bytes: of a file, a pipe, or the standard input. All pieces of a file share one buffer:
 * the system must fill the pages of a new buffer with zeros, which takes longer than reading the file.
 */
async function* openLog(path: string): AsyncGenerator<Uint8Array> {
  if (path === "-") return yield* process.stdin;
  const file = await open(path);
  try {
    const buffer = Buffer.allocUnsafe(1 << 19);
    for (;;) {
      const { bytesRead } = await file.read(buffer).catch((cause) => {
        throw new Error(`Cannot read ${path}`, { cause });
      });
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

/** Requires a file that can be written, before the log is read. */
export async function checkWritable(path: string): Promise<void> {
  const action = `Cannot write --html ${path}`;
  const stats = await stat(path).catch(() => undefined);
  if (stats?.isDirectory()) throw new Error(`${action} as it must be a file: it is a directory`);
  await access(stats === undefined ? dirname(path) : path, constants.W_OK).catch((cause) => {
    throw new Error(action, { cause });
  });
}
