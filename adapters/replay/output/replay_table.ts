/*
 * A report for the terminal, in plain text that can be pasted anywhere.
 */

import type { ReplayReport } from "../replay_report.ts";
import { checkReport } from "./check_report.ts";
import { reportSections } from "./report_sections.ts";
import { sectionText } from "./section_text.ts";

/**
 * The report as a table of text: a line for each candidate, then its clients hit hardest.
 *
 * @param report The result of `replay`.
 */
export function replayTable(report: ReplayReport): string {
  checkReport("show a report", report);
  return sectionText(reportSections(report));
}
