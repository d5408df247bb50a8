/*
 * A report for the terminal, in plain text that can be pasted anywhere.
 */

import type { ReplayReport } from "../replay_report.ts";
import type { SweepReport } from "../sweep.ts";
import { reportSections } from "./report_sections.ts";

/**
 * The report as a table of text: a line for each candidate, then its clients hit hardest, then the
 * smallest limits.
 *
 * @param report What `replay` returned.
 * @param sweeps What `sweep` returned, to show it as well.
 */
export function replayTable(report: ReplayReport, sweeps: readonly SweepReport[] = []): string {
  return reportSections(report, sweeps)
    .map(({ title, lines = [], rows = [] }) =>
      [...(title === undefined ? [] : [title]), ...lines, ...aligned(rows)].join("\n")
    )
    .filter((text) => text !== "")
    .join("\n\n");
}

/** Rows with aligned columns: the first to the left, numbers to the right. */
function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths![column]!) : cell.padStart(widths![column]!)
    ).join("  ").trimEnd()
  );
}
