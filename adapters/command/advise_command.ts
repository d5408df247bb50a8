/*
 * `tidegate advise`: from a log to a limit, without a rule to begin with.
 */

import { writeFile } from "node:fs/promises";

import { gcra } from "../../mod.ts";
import { algorithmOf } from "../replay/advise/choose_limits.ts";
import { unreadLines } from "../replay/output/log_notes.ts";
import {
  type Advice,
  adviceJson,
  adviceText,
  advise,
  readTrace,
  replay,
  replayPage,
  type ReplayPageOptions,
  type Trace,
} from "../replay/replay.ts";
import { type Command, defineCommand, numberOf, usageError } from "./command_options.ts";
import { checkWritable, LOG_OPTIONS, logArguments, logsAt } from "./logs_at.ts";

const OPTIONS = {
  ...LOG_OPTIONS,
  ordinary: {
    value: "CLIENT",
    multiple: true,
    text: "a client that the limit must admit, whatever it needs: your office, your monitor",
  },
  headroom: { value: "2", text: "how many times what ordinary clients needed to admit" },
  json: { text: "print the advice as JSON" },
  html: { value: "FILE", text: "write a page with plots" },
  title: { value: "TEXT", text: "the title of the page" },
} as const;

/** The command `tidegate advise`. */
export const adviseCommand: Command = defineCommand({
  name: "advise",
  operands: "LOG...",
  summary: "finds a limit for the clients of a log",
  about: `  A LOG is a file, or - for standard input, plain or compressed with gzip or zstd.
  Clients that no sane limit would admit are set aside; the others need no rule to begin with.`,
  options: OPTIONS,
  statuses: ["there is advice", "the log cannot be read"],
  async run(paths, values, tools) {
    if (paths.length === 0) throw usageError("advise takes a log: advise access.log");
    const headroom = numberOf(values.headroom, "headroom");
    if (values.html !== undefined) await checkWritable(values.html);
    const [logs, options] = logsAt(paths, values);
    const trace = await readTrace(logs, { ...options, marks: true });
    const advice = await advise(trace, { ordinary: values.ordinary, headroom });
    const log = logArguments(paths, values);
    if (values.json === true) {
      // The output must be JSON only.
      for (const line of unreadLines(trace)) tools.complain(line);
      tools.print(adviceJson(advice));
    } else tools.print(adviceText(advice, log));
    if (values.html !== undefined) {
      const title = values.title ?? `Advice on ${paths.join(", ")}`;
      await writeFile(values.html, await pageOf(trace, { title, advice, log }));
      tools.complain(`Wrote the page to ${values.html}`);
    }
    return 0;
  },
});

/** The page with the advice and the effect of its limits on the log. */
async function pageOf(
  trace: Trace,
  options: ReplayPageOptions & { readonly advice: Advice },
): Promise<string> {
  const { limits, tight } = options.advice.parts[0]!;
  const report = await replay(trace, [
    { name: "the advised limit", algorithm: algorithmOf(limits) },
    { name: "the tight limit", algorithm: gcra(tight) },
  ]);
  return replayPage(report, options);
}
