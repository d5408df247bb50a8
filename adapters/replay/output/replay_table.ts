import { count, durationText, percent, safeText } from "./format_numbers.ts";
import type { CandidateReport, ReplayReport } from "../replay_report.ts";
import {
  answers,
  comparedRequests,
  comparisonRows,
  notes,
  sweepRows,
  unreadLines,
} from "./report_text.ts";
import type { SweepReport } from "../sweep.ts";

/**
 * The report as a table of text: a line for each candidate, then its clients hit hardest, then the
 * smallest limits.
 *
 * @param report What `replay` returned.
 * @param sweeps What `sweep` returned, if that is to be shown too.
 */
export function replayTable(report: ReplayReport, sweeps: readonly SweepReport[] = []): string {
  return [
    summaryOf(report),
    ...unreadLines(report),
    ...notes(report),
    "",
    ...answers(report),
    "",
    ...candidateTable(report),
    ...report.candidates.flatMap(hardestHit),
    ...comparisonTable(report),
    ...(sweeps.length > 0 ? ["", "smallest limit that hits", ...aligned(sweepRows(sweeps))] : []),
  ].join("\n");
}

function summaryOf({ requests, units, clients, start, end }: ReplayReport): string {
  const noun = clients === 1 ? "client" : "clients";
  return `${count(requests)} requests, ${count(units)} units, ${count(clients)} ${noun} in ${
    durationText(end - start)
  }`;
}

function candidateTable({ candidates, requests }: ReplayReport): readonly string[] {
  return aligned([
    ["candidate", "denied", "%", "clients hit", "longest lock-out", "delayed"],
    ...candidates.map(({ name, denied, clientsHit, longestLockOut, delayed }) => [
      name,
      count(denied),
      percent(denied, requests),
      count(clientsHit),
      longestLockOut === undefined ? "-" : durationText(longestLockOut.milliseconds),
      delayed === 0 ? "-" : count(delayed),
    ]),
  ]);
}

function hardestHit({ name, clients }: CandidateReport): readonly string[] {
  const hit = clients.filter(({ denied }) => denied > 0).slice(0, 5);
  if (hit.length === 0) return [];
  return [
    "",
    `${name}: hit hardest`,
    ...aligned([
      ["client", "denied", "of", "longest lock-out"],
      ...hit.map(({ key, denied, requests, lockOut }) => [
        safeText(key),
        count(denied),
        count(requests),
        durationText(lockOut),
      ]),
    ]),
  ];
}

function comparisonTable({ comparison, candidates }: ReplayReport): readonly string[] {
  if (comparison === undefined) return [];
  return [
    "",
    ...comparedRequests(comparison, candidates),
    ...aligned(comparisonRows(comparison)),
  ];
}

/** Columns of one width each: the first to the left, numbers to the right. */
function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)
    ).join("  ").trimEnd()
  );
}
