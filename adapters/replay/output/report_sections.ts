/*
 * A report as sections, from which the text and the page are rendered: the text takes their lines
 * and tables, the page their headings and plots too.
 */

import { durationText } from "../../../core/application_support.ts";
import type { CandidateReport, ClientReport, ReplayReport } from "../replay_report.ts";
import { count, counted, instantText, percent, safeText } from "./format_numbers.ts";
import { notes, withLogLines } from "./log_notes.ts";
import { present, type Section } from "./sections.ts";
import { stripPlot } from "./plots/strip_plot.ts";

/** The sections of a report, in the order in which they are shown. */
export function reportSections(report: ReplayReport): readonly Section[] {
  const { candidates, requests, start, end } = report;
  const [{ timeline: { width: bin, allowed, denied } }] = candidates as [CandidateReport];
  const most = Math.max(...allowed.map((units, index) => units + denied[index]!));
  const plotted = { title: "Units over time, and those refused", heading: "limit", start, end };
  return [
    { kind: "note", lines: [...withLogLines(summaryOf(report), report), ...notes(report)] },
    { kind: "answer", lines: answers(report) },
    { rows: candidateRows(report) },
    {
      heading: `Over time, from ${instantText(start)} UTC`,
      plot: (width) =>
        stripPlot(candidates.map((each) => ({ ...each, requests })), {
          ...plotted,
          width,
          height: 48,
        }),
      plotNote: `Bars show units per ${durationText(bin)}, at most ${count(most)}; those refused ` +
        "are in front.",
    },
    ...hitHardest(report),
  ];
}

function summaryOf({ requests, units, clients, start, end }: ReplayReport): string {
  return present(
    counted(requests, "request"),
    units !== requests && counted(units, "unit"),
    `${counted(clients, "client")} in ${durationText(end - start)}`,
  ).join(", ");
}

/** The answers: of limits, or of a rule file as a whole; its rules count other clients. */
function answers(report: ReplayReport): readonly string[] {
  return report.candidates
    .filter(({ smallest }, index) => smallest !== undefined || index === 0)
    .map((candidate) => answerOf(report, candidate));
}

/** The clients that a candidate would have refused, and how low its limit may be. */
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
    ? "; with these options, every limit refuses somebody"
    : `; the smallest limit that refuses nobody is ${count(smallest)}`;
  return `With ${name}, ${whom}${least}.`;
}

function candidateRows({ candidates, requests }: ReplayReport): Section["rows"] {
  return [
    ["candidate", "refused", "%", "clients hit", "longest lock-out", "delayed"],
    ...candidates.map(({ name, denied, clientsHit, longestLockOut, delayed }) => [
      name,
      count(denied),
      percent(denied, requests),
      count(clientsHit),
      longestLockOut === undefined ? "-" : durationText(longestLockOut.milliseconds),
      delayed === 0 ? "-" : count(delayed),
    ]),
  ];
}

/** The clients that were refused most; candidates that refused the same ones are shown together. */
function hitHardest({ candidates, start, end }: ReplayReport): readonly Section[] {
  const groups = new Map<string, { names: string[]; hit: readonly ClientReport[] }>();
  for (const { name, clients } of candidates) {
    const hit = clients.filter(({ denied }) => denied > 0);
    if (hit.length === 0) continue;
    const same = JSON.stringify(hit);
    const group = groups.get(same) ?? { names: [], hit };
    group.names.push(name);
    groups.set(same, group);
  }
  return [...groups.values()].map(({ names, hit }, index) => ({
    heading: index === 0 ? "The clients hit hardest" : undefined,
    title: `${names.join(" and ")}: hit hardest`,
    rows: [
      ["client", "refused", "of", "longest lock-out"],
      ...hit.map(({ key, denied, requests, lockOut }) => [
        safeText(key),
        count(denied),
        count(requests),
        durationText(lockOut),
      ]),
    ],
    plot: (width) =>
      stripPlot(hit.map((each) => ({ ...each, name: each.key })), {
        title: `Clients under ${names[0]}`,
        heading: "client",
        start,
        end,
        width,
        height: 18,
      }),
  }));
}
