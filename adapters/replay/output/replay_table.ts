/*
 * A report for the terminal, in plain text that can be pasted anywhere.
 */

import type { ReplayReport } from "../replay_report.ts";
import type { SweepReport } from "../sweep.ts";
import { checkReport } from "./check_report.ts";
import { reportSections } from "./report_sections.ts";
import { sectionText } from "./section_text.ts";

/**
 * The report as a table of text: a line for each candidate, then its clients hit hardest, then the
 * smallest limits.
 *
 * @param report The result of `replay`.
 * @param sweeps The result of `sweep`, to show it as well.
 */
export function replayTable(report: ReplayReport, sweeps: readonly SweepReport[] = []): string {
  checkReport("show a report", report);
  return sectionText(reportSections(report, sweeps));
}
