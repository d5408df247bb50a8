/*
 * `tidegate replay`: a log file against limits, from the command line.
 */

import { createReadStream } from "node:fs";
import { stat, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";

import { errorMessage, formatValue } from "../../core/toolkit.ts";
import type { Algorithm, Period } from "../../mod.ts";
import { addressKey } from "../http/http.ts";
import { type AlgorithmName, algorithmOf } from "../rules/rules.ts";
import { count, numberText } from "../replay/output/format_numbers.ts";
import type { LogEntry } from "../replay/log/log_entry.ts";
import type { LogFormat, LogRecord } from "../replay/log/log_format.ts";
import { readLog, type ReadLogOptions } from "../replay/log/read_log.ts";
import { replay } from "../replay/replay_log.ts";
import { replayPage } from "../replay/output/replay_page.ts";
import { replayTable } from "../replay/output/replay_table.ts";
import { sortedLog } from "../replay/log/sorted_log.ts";
import { sweep, type SweepFamily } from "../replay/sweep.ts";

/** What `tidegate replay --help` says. */
export const REPLAY_HELP: string =
  `tidegate replay LOG... --rule RULE [--rule RULE ...]   what limits would have done to a log

A RULE is an algorithm, a limit and a period, and options: gcra:60/1m,burst=10 or
slidingWindow:1000/1h,precision=1m

--format common|json|tsv|csv   the form of the log; common is that of most web servers
--key NAME                     whose requests: a field or column; or ip/64 for addresses, IPv6 ones
                               by so many bits; default the host as it is
--cost NAME[,NAME]             fields or columns that hold what a request costs; default 1
--sort                         put the requests in order of time first; holds the log in memory,
                               which a pipe needs: zcat LOG.gz | tidegate replay /dev/stdin --sort
--sweep PERIOD                 also find the smallest limits for this period
--html FILE                    write a page with plots
--title TEXT                   what to call it`;

/** The algorithms that a sweep compares. */
const SWEPT: readonly AlgorithmName[] = ["fixedWindow", "slidingCounter", "slidingLog", "gcra"];

const OPTIONS = {
  rule: { type: "string", multiple: true },
  format: { type: "string" },
  key: { type: "string" },
  cost: { type: "string" },
  sort: { type: "boolean" },
  sweep: { type: "string" },
  html: { type: "string" },
  title: { type: "string" },
  help: { type: "boolean", short: "h" },
} as const;

/**
 * Runs `tidegate replay`.
 *
 * @param args The arguments after `replay`.
 * @param print Prints a line.
 * @returns The exit status.
 * @throws {TypeError} If an argument is wrong.
 * @throws {RangeError} If the log holds no request.
 */
export async function replayCommand(
  args: readonly string[],
  print: (line: string) => void,
): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: OPTIONS,
    allowPositionals: true,
  });
  const { rule: rules = [], sweep: period, html, title } = values;
  if (values.help === true || positionals.length === 0 || rules.length === 0) {
    print(REPLAY_HELP);
    return values.help === true ? 0 : 2;
  }
  const candidates = rules.map((rule) => ({ name: rule, algorithm: ruleOf(rule) }));
  const families = period === undefined ? [] : familiesOf(periodOf("period", period));
  const { stream, bad } = entriesOf(positionals, values);
  if (values.sort !== true) await requireFiles(positionals);
  const log = values.sort === true ? await sortedLog(stream) : stream;
  const report = await replay(log, candidates);
  if (bad.count > 0) {
    print(`no entries: ${count(bad.count)}, the first one "${numberText(bad.first)}"`);
  }
  const of = report.clients === 1 ? "requests" : "clients";
  const sweeps = families.length === 0 ? [] : await sweep(log, families, { of });
  print(replayTable(report, sweeps));
  if (html !== undefined) {
    await writeFile(html, replayPage(report, { title: title ?? positionals.join(", "), sweeps }));
    print(`\nwritten to ${html}`);
  }
  return 0;
}

/** The requests of files, as often as they are read, and the lines that are none. */
function entriesOf(
  paths: readonly string[],
  { format = "common", key, cost }: FormValues,
): { stream(): AsyncGenerator<LogEntry>; readonly bad: BadLines } {
  const form = { format: format as LogFormat, key: keyOf(key), cost: costOf(cost) };
  const text = Object.entries({ format, key, cost })
    .flatMap(([name, value]) => value === undefined ? [] : [`--${name} ${value}`])
    .join(" ");
  const bad: BadLines = { count: 0, first: "" };
  return {
    bad,
    async *stream() {
      bad.count = 0;
      for (const path of paths) yield* readFile(path, form, text, bad);
    },
  };
}

/** The options that say how a log is read. */
interface FormValues {
  readonly format?: string | undefined;
  readonly key?: string | undefined;
  readonly cost?: string | undefined;
}

/** Lines that are no requests. */
interface BadLines {
  count: number;
  first: string;
}

/** Requires files, which can be read several times; a pipe can be read only once. */
async function requireFiles(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const stats = await stat(path);
    if (stats.isFile()) continue;
    const what = stats.isFIFO() ? "a pipe" : stats.isDirectory() ? "a directory" : "a device";
    throw new TypeError(
      `Cannot replay ${path} as it must be a file, which can be read several times, ` +
        `or be held in memory with --sort: it is ${what}`,
    );
  }
}

/**
 * The requests of a file.
 *
 * @param formText The form, as the command line gives it.
 * @param bad Counts the lines that are no requests.
 * @throws {TypeError} If it has lines, and none of them is a request.
 */
async function* readFile(
  path: string,
  form: ReadLogOptions,
  formText: string,
  bad: BadLines,
): AsyncGenerator<LogEntry> {
  let requests = 0;
  const lines: BadLines = { count: 0, first: "" };
  function onBadLine(line: string): void {
    if (lines.count++ === 0) lines.first = line;
  }
  for await (const entry of readLog(createReadStream(path), { ...form, onBadLine })) {
    requests++;
    yield entry;
  }
  if (requests === 0 && lines.count > 0) {
    throw new TypeError(
      `Cannot replay ${path} as its lines must fit ${formText}: ` +
        `none of ${count(lines.count)} does; the first is "${numberText(lines.first)}"`,
    );
  }
  if (bad.count === 0) bad.first = lines.first;
  bad.count += lines.count;
}

/** `gcra:60/1m,burst=10`: a name, a limit, a period, and options of the factory. */
function ruleOf(text: string): Algorithm {
  const match = /^(\w+):(\d+)\/(\w+)((?:,\w+=\w+)*)$/.exec(text);
  if (match === null) {
    throw new TypeError(
      `Cannot read a rule as it must be like gcra:60/1m,burst=10: it is ${formatValue(text)}`,
    );
  }
  const [, algorithm, limit, period, rest = ""] = match;
  const options = rest.split(",").filter((option) => option !== "").map((option) => {
    const [name = "", value = ""] = option.split("=");
    return [name, name === "precision" ? periodOf(name, value) : valueOf(value)] as const;
  });
  return algorithmOf({
    algorithm: algorithm as AlgorithmName,
    limit: Number(limit),
    period: periodOf("period", period!),
    ...Object.fromEntries(options),
  });
}

/** A period must say its unit: on a command line, a number alone may be meant as seconds. */
function periodOf(option: string, text: string): Period {
  if (!/^\d+$/.test(text)) return text as Period;
  const rule = `${option} must have a unit, such as 500ms, 10s, 1m, 1h or 1d`;
  throw new RangeError(errorMessage("read a rule", rule, text));
}

/** Digits are a number; anything else is text, such as a period with its unit. */
function valueOf(text: string): number | string {
  return /^\d+$/.test(text) ? Number(text) : text;
}

function familiesOf(period: Period): readonly SweepFamily[] {
  return SWEPT.map((algorithm) => ({
    name: algorithm,
    make: (limit) => algorithmOf({ algorithm, limit, period }),
  }));
}

function keyOf(name: string | undefined): ((record: LogRecord) => string) | undefined {
  if (name === undefined) return undefined;
  const bits = /^ip\/(\d{1,3})$/.exec(name)?.[1];
  if (bits === undefined) return ({ fields }) => fields[name] ?? "";
  addressKey("::1", Number(bits));
  return ({ host }) => addressKey(host, Number(bits)) ?? host;
}

function costOf(names: string | undefined): ((record: LogRecord) => number) | undefined {
  if (names === undefined) return undefined;
  const columns = names.split(",");
  return ({ fields }) => columns.reduce((sum, column) => sum + Number(fields[column]), 0);
}
