/*
 * What reports say in sentences, as text and as a page.
 */

import type { Comparison } from "../compare_clients.ts";
import type { CandidateReport, ReplayReport } from "../replay_report.ts";
import { count, numberText, percent } from "./format_numbers.ts";

/** The answer: whom a candidate would have refused, and how low its limit may be. */
export function answerOf(
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

/** What is odd about the log, in sentences without an end. */
export function notes({ backSteps, untracked, log }: ReplayReport): readonly string[] {
  const unread = log?.unread ?? 0;
  return [
    ...(unread > 0 ? [`${lines(unread)} could not be read`] : []),
    ...(log?.keys.length === 0
      ? ['no column is known to tell clients apart: all requests count as those of one, "all"']
      : []),
    ...(backSteps > 0 ? [`${count(backSteps)} requests were out of order, and put in order`] : []),
    ...(untracked > 0
      ? [`${count(untracked)} requests came from clients beyond the bound, and were not decided on`]
      : []),
  ];
}

/** The first lines that could not be read, and why, where they are more than one in a hundred. */
export function unreadLines({ log }: ReplayReport): readonly string[] {
  if (log === undefined || log.unread * 100 <= log.lines) return [];
  const which = log.firstUnread.map(({ line, text, reason }) =>
    `line ${count(line)}: ${numberText(text)}: ${reason}`
  );
  return [
    `${lines(log.unread)} of ${count(log.lines)} could not be read in the form ${
      log.formats.join(", ")
    }:`,
    ...which,
  ];
}

function lines(number: number): string {
  return `${count(number)} ${number === 1 ? "line" : "lines"}`;
}
