/*
 * `tidegate replay`: a log against limits, from the command line.
 */

import { writeFile } from "node:fs/promises";

import { unreadLines } from "../replay/output/log_notes.ts";
import {
  readTrace,
  replay,
  replayJson,
  replayPage,
  type ReplayReport,
  replayRules,
  replayTable,
} from "../replay/replay.ts";
import {
  type Command,
  defineCommand,
  type Tools,
  usageError,
  type ValuesOf,
} from "./command_options.ts";
import { checkWritable, LOG_OPTIONS, logsAt } from "./logs_at.ts";
import { readAt } from "./rules_at.ts";
import { candidateOf } from "./rule_option.ts";

const OPTIONS = {
  rule: { value: "RULE", multiple: true, text: "a limit to try; give several to compare them" },
  rules: { value: "RULES", text: "a rule file; shows what each of its rules would do" },
  ...LOG_OPTIONS,
  json: { text: "print the report as JSON" },
  html: { value: "FILE", text: "also write the report as a page with plots" },
  title: { value: "TEXT", text: "the title of the page" },
} as const;

type ReplayValues = ValuesOf<typeof OPTIONS>;

/** The command `tidegate replay`. */
export const replayCommand: Command = defineCommand({
  name: "replay",
  operands: "LOG... --rule RULE [--rule RULE ...]",
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
  const { rule: rules = [], html, title } = values;
  if (positionals.length === 0 || (rules.length === 0 && values.rules === undefined)) {
    throw usageError(
      "replay needs a log and a rule or a rule file, such as replay access.log --rule gcra:60/1m,burst=60",
    );
  }
  if (values.rules !== undefined && rules.length > 0) {
    throw usageError("--rules cannot be combined with --rule");
  }
  const candidates = rules.map(candidateOf);
  if (html !== undefined) await checkWritable(html);
  const [logs, options] = logsAt(positionals, values);
  let report: ReplayReport;
  if (values.rules === undefined) {
    report = await replay(await readTrace(logs, options), candidates);
  } else {
    const { rules } = await readAt(values.rules, {}, tools);
    if (rules === undefined) return 1;
    report = await replayRules(logs, rules, values.rules, options);
  }
  if (values.json === true) {
    // The output must be JSON only.
    for (const line of unreadLines(report)) tools.complain(line);
    tools.print(replayJson(report));
  } else tools.print(replayTable(report));
  if (html !== undefined) {
    await writeFile(html, replayPage(report, { title: title ?? positionals.join(", ") }));
    tools.complain(`Wrote the page to ${html}`);
  }
  return 0;
}
