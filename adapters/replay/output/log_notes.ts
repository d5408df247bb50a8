/*
 * The notes of a report about the log itself: what was left out, what could not be read, and what
 * such a log cannot tell.
 */

import { FORMAT_NAMES, type LogFormat } from "../log/layout.ts";
import type { LogFacts } from "../log/trace.ts";
import { columnsText, isNamedByLog } from "../log/unreadable_log.ts";
import type { ReplayReport } from "../replay_report.ts";
import { count, counted, percent, safeText } from "./format_numbers.ts";
import { present } from "./sections.ts";

/** A summary after the lines that could not be read, and before other facts about the log. */
export function withLogLines(
  summary: string,
  { log }: Pick<ReplayReport, "log">,
): readonly string[] {
  if (log === undefined) return [summary];
  const unread = unreadLines({ log });
  return [
    ...unread,
    summary,
    ...present(log.unread > 0 && unread.length === 0 && unreadText(log)),
    ...lineNotes(log),
  ];
}

/** Oddities of the requests, a sentence each. */
export function notes(report: ReplayReport): readonly string[] {
  const { backSteps, untracked, log } = report;
  return present(
    ...(log === undefined ? [] : secondLines(report, log)),
    backSteps > 0 &&
      `${counted(backSteps, "line was", "lines were")} out of order; replay sorted them.`,
    untracked > 0 &&
      `${counted(untracked, "request was", "requests were")} ignored, because they came from ` +
        "clients beyond the maximum number.",
  );
}

/** Which columns name the client, and which lines were read but are not replayed. */
function lineNotes(log: LogFacts): readonly string[] {
  const { lines, leftOut, unnamed, others, hasLists, columns } = log;
  const [keys, where] = [log.keys, log.where].map((texts) => texts.map((text) => safeText(text)));
  const isAlone = keys!.length === 0;
  const names = keys!.join(", ");
  return present(
    !isAlone &&
      (hasLists
        ? `The client of a request is the right-most address in ${names} that is neither private nor ` +
          "a proxy named by --proxies."
        : `The clients are those in the column ${names}.`),
    where!.length > 0 &&
      `Only lines with ${where!.join(", ")} count: ` +
        `${count(leftOut)} of ${counted(lines, "line was", "lines were")} left out.`,
    others > 0 &&
      `${counted(others, "line does", "lines do")} not record a request, and were skipped.`,
    unnamed > 0 &&
      `${counted(unnamed, "request names", "requests name")} no client in ${keys!.join(" or ")}, ` +
        "and were skipped.",
    isAlone &&
      'No column identifies clients, so all requests count as one client\'s, "all". The columns ' +
        `are ${columnsText(columns)}: choose one with --key.`,
  );
}

/** Facts that a log of whole seconds cannot give. */
function secondLines({ candidates, requests }: ReplayReport, { resolution }: LogFacts) {
  if (resolution === 1) return [];
  const apart = candidates.filter(({ denied, deniedAtOnce = denied }) => deniedAtOnce !== denied);
  return [
    "Times are whole seconds, so replay spreads the requests of a second over it, in the order of " +
    "their lines.",
    ...apart.map(({ name, denied, deniedAtOnce }) =>
      `This log cannot tell exactly what ${name} would refuse: ${percent(denied, requests)} % of ` +
      `requests if they are spread, ${percent(deniedAtOnce!, requests)} % if those of a second ` +
      "come at once."
    ),
  ];
}

/**
 * Where more than one line in a hundred could not be read: how many, the first of them, and the
 * forms that are known.
 */
export function unreadLines({ log }: Pick<ReplayReport, "log">): readonly string[] {
  if (log === undefined || log.unread * 100 <= log.lines) return [];
  const first = log.firstUnread.map(({ line, text, reason }) =>
    `line ${count(line)}: ${safeText(text)}: ${reason}`
  );
  const isTable = log.formats.some((format) =>
    isNamedByLog({ format: format as LogFormat }) && log.columns.length > 0
  );
  const hint = isTable
    ? [`The columns are ${columnsText(log.columns)}; --time and --key choose others.`]
    : log.formats.includes("pattern")
    ? []
    : [`Replay knows these formats: ${FORMAT_NAMES.join(", ")}.`];
  return [unreadText(log), ...first, ...hint];
}

function unreadText({ unread, lines, formats }: LogFacts): string {
  const most = unread * 2 > lines ? "Most of the log is missing from this report: " : "";
  return `${most}${count(unread)} of ${counted(lines, "line")} could not be read as ` +
    `${formats.join(" or ")}.`;
}
