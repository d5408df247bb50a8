/*
 * A report or advice as sections, from which text and page are rendered. A promise that was not
 * awaited would look like an empty report, so what is shown is checked first.
 */

import { errorMessage } from "../../../core/application_support.ts";
import type { Advice } from "../advise/advice.ts";
import type { ReplayReport } from "../replay_report.ts";

/** A part of a report or of advice. */
export interface Section {
  /** The heading before it on a page. */
  readonly heading?: string | undefined;
  readonly title?: string | undefined;
  /** How pages show its lines. */
  readonly kind?: "answer" | "note" | "list" | undefined;
  readonly lines?: readonly string[] | undefined;
  /** A table; its first row is its head. */
  readonly rows?: readonly (readonly string[])[] | undefined;
  /** Lines that are to be copied. */
  readonly code?: readonly string[] | undefined;
  /** A picture in characters. */
  readonly text?: readonly string[] | undefined;
  /** A note about its plot. */
  readonly plotNote?: string | undefined;
  /** Draws its plot, in a width. */
  readonly plot?: ((width: number) => string) | undefined;
}

/** The items that apply; one that does not is false or undefined. */
export function present<Item>(...items: readonly (Item | false | undefined)[]): readonly Item[] {
  return items.filter((item): item is Item => item !== false && item !== undefined);
}

/** Requires a report. */
export function checkReport(action: string, report: ReplayReport): void {
  check(action, "replay", (report as Partial<ReplayReport> | undefined)?.candidates, report);
}

/** Requires advice. */
export function checkAdvice(advice: Advice): void {
  check("show advice", "advise", (advice as Partial<Advice> | undefined)?.parts, advice);
}

function check(action: string, maker: string, list: unknown, shown: unknown): void {
  if (Array.isArray(list)) return;
  throw new TypeError(errorMessage(action, `it must be what ${maker} resolves to`, shown));
}
