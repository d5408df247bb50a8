/*
 * What reports say in sentences, as text and as a page.
 */

import type { Comparison } from "../compare_clients.ts";
import { FORMAT_NAMES } from "../log/layout.ts";
import type { CandidateReport, ReplayReport } from "../replay_report.ts";
import type { SweepReport } from "../sweep.ts";
import { count, percent, safeText } from "./format_numbers.ts";

/** The answers: of limits, or of a rule file as a whole; its rules count other clients. */
export function answers(report: ReplayReport): readonly string[] {
  return report.candidates
    .filter(({ smallest }, place) => smallest !== undefined || place === 0)
    .map((candidate) => answerOf(report, candidate));
}

/** Whom a candidate would have refused, and how low its limit may be. */
function answerOf(
  { requests, clients }: ReplayReport,
  { name, denied, clientsHit, smallest }: CandidateReport,
): string {
  const part = clients > 1
    ? `${count(clientsHit)} of ${count(clients)} clients would have been refused, ` +
      `${percent(denied, requests)} % of calls`
    : `${count(denied)} of ${count(requests)} calls would have been refused, ` +
      `${percent(denied, requests)} %`;
  const whom = denied === 0 ? "nobody would have been refused" : part;
  const least = smallest === undefined
    ? ""
    : smallest === Infinity
    ? "; no limit refuses nobody with these options"
    : `; the smallest limit that refuses nobody is ${count(smallest)}`;
  return `With ${name}, ${whom}${least}.`;
}

/** What two candidates would have done differently, in sentences. */
export function comparedRequests(
  { onlyFirst, onlySecond, both, clientsApart }: Comparison,
  [first, second]: readonly CandidateReport[],
): readonly string[] {
  return [
    `Requests refused by ${first!.name} (first) alone: ${count(onlyFirst)}; ` +
    `by ${second!.name} (second) alone: ${count(onlySecond)}; by both: ${count(both)}.`,
    `Clients on whose requests they differ: ${count(clientsApart)}.`,
  ];
}

/** The clients on whose requests two candidates differ, as rows of a table. */
export function comparisonRows({ clients }: Comparison): readonly (readonly string[])[] {
  return [
    ["client", "requests", "only first", "only second", "both"],
    ...clients.map(({ key, requests, onlyFirst, onlySecond, both }) => [
      safeText(key),
      ...[requests, onlyFirst, onlySecond, both].map(count),
    ]),
  ];
}

/** The smallest limits, as rows of a table. */
export function sweepRows(sweeps: readonly SweepReport[]): readonly (readonly string[])[] {
  const shares = sweeps[0]!.smallest.map(({ share }) =>
    share === 0 ? "nobody" : `${Number((share * 100).toPrecision(3))} %`
  );
  return [
    ["algorithm", ...shares],
    ...sweeps.map(({ name, smallest }) => [name, ...smallest.map(({ limit }) => count(limit))]),
  ];
}

/** What is odd about the log, in sentences without an end. */
export function notes(report: ReplayReport): readonly string[] {
  const { backSteps, untracked, log } = report;
  const unread = log?.unread ?? 0;
  return [
    ...(unread > 0 && unreadLines(report).length === 0 ? [unreadText(report)] : []),
    ...(log?.keys.length === 0
      ? ['no column is known to distinguish clients: all requests count as those of one, "all"']
      : []),
    ...(backSteps > 0 ? [`${count(backSteps)} requests were out of order, and put in order`] : []),
    ...(untracked > 0
      ? [`${count(untracked)} requests came from clients beyond the bound, and were not decided on`]
      : []),
  ];
}

/**
 * Where more than one line in a hundred could not be read: how many, the first of them, and the
 * forms that are known.
 */
export function unreadLines(report: ReplayReport): readonly string[] {
  const { log } = report;
  if (log === undefined || log.unread * 100 <= log.lines) return [];
  const first = log.firstUnread.map(({ line, text, reason }) =>
    `line ${count(line)}: ${safeText(text)}: ${reason}`
  );
  return [unreadText(report), ...first, `the forms known are ${FORMAT_NAMES.join(", ")}`];
}

function unreadText({ log }: ReplayReport): string {
  const { unread, lines, formats } = log!;
  const noun = unread === 1 ? "line" : "lines";
  return `${count(unread)} ${noun} could not be read, of ${count(lines)} in the form ${
    formats.join(", ")
  }`;
}
