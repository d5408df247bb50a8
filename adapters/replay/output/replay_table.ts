import { count, durationText, numberText, percent } from "./format_numbers.ts";
import type { ReplayReport } from "../replay_report.ts";
import type { SweepReport } from "../sweep.ts";

/**
 * The report as a table of text: a line for each candidate, then its clients hit hardest, then the
 * smallest limits.
 *
 * @param report What `replay` returned.
 * @param sweeps What `sweep` returned, if that is to be shown too.
 */
export function replayTable(report: ReplayReport, sweeps: readonly SweepReport[] = []): string {
  const { requests, units, clients, start, end, candidates } = report;
  const lines = [
    `${count(requests)} requests, ${count(units)} units, ${count(clients)} ${
      clients === 1 ? "client" : "clients"
    } in ${durationText(end - start)}`,
    ...notes(report),
    "",
    ...aligned([
      ["candidate", "denied", "%", "clients hit", "longest lock-out", "delayed"],
      ...candidates.map((candidate) => [
        candidate.name,
        count(candidate.denied),
        percent(candidate.denied, requests),
        count(candidate.clientsHit),
        candidate.longestLockOut === undefined
          ? "-"
          : durationText(candidate.longestLockOut.milliseconds),
        candidate.delayed === 0 ? "-" : count(candidate.delayed),
      ]),
    ]),
  ];
  for (const { name, clients } of candidates) {
    const hit = clients.filter(({ denied }) => denied > 0).slice(0, 5);
    if (hit.length === 0) continue;
    lines.push(
      "",
      `${name}: hit hardest`,
      ...aligned([
        ["client", "denied", "of", "longest lock-out"],
        ...hit.map(({ key, denied, requests, lockOut }) => [
          numberText(key),
          count(denied),
          count(requests),
          durationText(lockOut),
        ]),
      ]),
    );
  }
  if (sweeps.length > 0) lines.push("", "smallest limit that hits", ...smallestTable(sweeps));
  return lines.join("\n");
}

/** What is odd about the log, in sentences. */
export function notes({ backSteps, untracked }: ReplayReport): readonly string[] {
  return [
    ...(backSteps > 0 ? [`${count(backSteps)} requests were out of order, and moved up`] : []),
    ...(untracked > 0
      ? [`${count(untracked)} requests came from clients beyond the bound, and were not decided on`]
      : []),
  ];
}

function smallestTable(sweeps: readonly SweepReport[]): readonly string[] {
  const shares = sweeps[0]!.smallest.map(({ share }) => share);
  return aligned([
    ["algorithm", ...shares.map(shareName)],
    ...sweeps.map(({ name, smallest }) => [name, ...smallest.map(({ limit }) => count(limit))]),
  ]);
}

/** A share in words: `nobody`, `0.1 %`. */
export function shareName(share: number): string {
  return share === 0 ? "nobody" : `${Number((share * 100).toPrecision(3))} %`;
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
