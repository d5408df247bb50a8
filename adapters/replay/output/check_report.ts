/*
 * The checks of reports before they are shown. A promise that was not awaited would look like an
 * empty report.
 */

import { errorMessage } from "../../../core/application_support.ts";
import type { Advice } from "../advise/advice.ts";
import type { ReplayReport } from "../replay_report.ts";

/** Requires a report. */
export function checkReport(action: string, report: ReplayReport): void {
  if (Array.isArray((report as Partial<ReplayReport> | undefined)?.candidates)) return;
  throw new TypeError(errorMessage(action, "it must be what replay resolves to", report));
}

/** Requires advice. */
export function checkAdvice(advice: Advice): void {
  if (Array.isArray((advice as Partial<Advice> | undefined)?.parts)) return;
  throw new TypeError(errorMessage("show advice", "it must be what advise resolves to", advice));
}
