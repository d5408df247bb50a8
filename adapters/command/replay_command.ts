/*
 * `tidegate replay`: a log against limits, from the command line.
 */

import { createReadStream } from "node:fs";
import { access, constants, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import process from "node:process";

import { FORMAT_NAMES } from "../replay/log/layout.ts";
import { unreadLines } from "../replay/output/log_notes.ts";
import {
  type LogFormat,
  readTrace,
  type ReadTraceOptions,
  replay,
  replayJson,
  replayPage,
  type ReplayReport,
  replayRules,
  replayTable,
  sweep,
  type SweepReport,
} from "../replay/replay.ts";
import {
  type Command,
  defineCommand,
  integerOf,
  type Tools,
  usageError,
  type ValuesOf,
} from "./command_options.ts";
import { readAt } from "./rules_at.ts";
import { type ReadProgress, readProgress } from "./read_progress.ts";
import { candidateOf } from "./rule_option.ts";
import { foundCandidates, sweepOf } from "./sweep_option.ts";

const OPTIONS = {
  rule: { value: "RULE", multiple: true, text: "a limit to try; give several to compare them" },
  rules: { value: "RULES", text: "a rule file; shows what each of its rules would do" },
  compare: { text: "show what two rules would have done differently, and to which clients" },
  sweep: {
    value: "PERIOD",
    text:
      "find the smallest limits for this period; 1m,burst=10 gives gcra that burst, and 60/1m " +
      "finds the smallest burst for that limit",
  },
  format: { choices: FORMAT_NAMES, text: "the format of the log; detected by default" },
  time: { value: "NAME", text: "the column, or the path in a JSON object, that holds the time" },
  key: {
    value: "NAME",
    text:
      "what identifies a client: a column, a path, or ip/56 to count IPv6 networks of 56 bits; " +
      "default the client's address, with IPv6 networks of 64",
  },
  cost: {
    value: "NAME[,NAME]",
    text: "the columns or paths whose sum is the cost of a request; default 1",
  },
  where: {
    value: "NAME=VALUE",
    multiple: true,
    text:
      "replay only lines with this value: path=/api/*, method=POST, status=401, or any column; " +
      "name!=value excludes a value; of several, all must match, or any if the name is the same",
  },
  threads: { value: "N", text: "extra threads to parse lines with; default 0" },
  json: { text: "print the report as JSON" },
  html: { value: "FILE", text: "also write the report as a page with plots" },
  title: { value: "TEXT", text: "the title of the page" },
} as const;

type ReplayValues = ValuesOf<typeof OPTIONS>;

/** The command `tidegate replay`. */
export const replayCommand: Command = defineCommand({
  name: "replay",
  operands: "LOG... --rule RULE [--rule RULE ...] [--sweep PERIOD]",
  summary: "show what limits would have done to the traffic in a log",
  about: `  A LOG is a file, or - for standard input, plain or compressed with gzip or zstd.
  A RULE is an algorithm, a limit, a period and options: gcra:60/1m,burst=10 or
  slidingWindow:1000/1h,precision=1m`,
  options: OPTIONS,
  statuses: ["success", "the log cannot be read, or the rules are not valid"],
  run: runReplay,
});

async function runReplay(
  positionals: readonly string[],
  values: ReplayValues,
  tools: Tools,
): Promise<number> {
  const { rule: rules = [], sweep: swept, html, title } = values;
  if (positionals.length === 0 || (rules.length === 0 && (values.rules ?? swept) === undefined)) {
    throw usageError(
      "replay needs a log and a rule, a rule file or a sweep, such as " +
        "replay access.log --rule gcra:60/1m",
      "replay",
    );
  }
  if (values.rules !== undefined && (rules.length > 0 || swept !== undefined)) {
    throw usageError("--rules cannot be combined with --rule or --sweep", "replay");
  }
  const candidates = rules.map(candidateOf);
  const wanted = swept === undefined ? undefined : sweepOf(swept);
  if (html !== undefined) await checkWritable(html);
  const progress = readProgress(await sizeOf(positionals));
  const logs = positionals.map((name) => ({ name, log: openLog(name, progress) }));
  const options = { ...readOptions(values), onProgress: progress.show };
  let report: ReplayReport;
  let sweeps: readonly SweepReport[] = [];
  if (values.rules === undefined) {
    const trace = await readTrace(logs, options).finally(progress.end);
    const of = trace.clients.length === 1 ? "requests" : "clients";
    if (wanted !== undefined) sweeps = await sweep(trace, wanted.families, { of });
    const tried = candidates.length > 0 ? candidates : foundCandidates(wanted!, sweeps);
    report = await replay(trace, tried, { compare: values.compare });
  } else {
    const { rules } = await readAt(values.rules, {}, tools);
    if (rules === undefined) return 1;
    report = await replayRules(logs, rules, values.rules, options).finally(progress.end);
  }
  if (values.json === true) {
    // Nothing but JSON may stand among it.
    for (const line of unreadLines(report)) tools.complain(line);
    tools.print(replayJson(report, sweeps));
  } else tools.print(replayTable(report, sweeps));
  if (html !== undefined) {
    await writeFile(html, replayPage(report, { title: title ?? positionals.join(", "), sweeps }));
    tools.complain(`Wrote the page to ${html}`);
  }
  return 0;
}

function readOptions({ format, time, key, cost, where, threads }: ReplayValues): ReadTraceOptions {
  return {
    format: format as LogFormat | undefined,
    columns: { time },
    key,
    cost: cost?.split(","),
    where,
    threads: integerOf(threads, "threads"),
  };
}

/** A log's bytes: of a file, a pipe, or the standard input. */
async function* openLog(path: string, progress: ReadProgress): AsyncGenerator<Uint8Array> {
  const stream = path === "-" ? process.stdin : createReadStream(path, { highWaterMark: 1 << 19 });
  for await (const piece of stream) {
    progress.add(piece.length);
    yield piece;
  }
}

/** The bytes of files; `NaN` if there is a pipe among them. */
async function sizeOf(paths: readonly string[]): Promise<number> {
  let size = 0;
  for (const path of paths) {
    if (path === "-") return NaN;
    const stats = await stat(path);
    if (stats.isDirectory()) {
      throw new TypeError(
        `Cannot replay ${path} as it must be a file or a pipe: it is a directory`,
      );
    }
    size += stats.isFile() ? stats.size : NaN;
  }
  return size;
}

/** Requires a file that can be written, before the log is read. */
async function checkWritable(path: string): Promise<void> {
  const action = `Cannot write --html ${path}`;
  const stats = await stat(path).catch(() => undefined);
  if (stats?.isDirectory()) throw new Error(`${action} as it must be a file: it is a directory`);
  await access(stats === undefined ? dirname(path) : path, constants.W_OK).catch((cause) => {
    throw new Error(action, { cause });
  });
}
