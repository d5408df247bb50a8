/*
 * Reports and advice for the terminal, in plain text that can be pasted anywhere, and for programs.
 */

import type { Advice } from "../advise/advice.ts";
import type { ReplayReport } from "../replay_report.ts";
import { adviceSections } from "./advice_sections.ts";
import { reportSections } from "./report_sections.ts";
import { checkAdvice, checkReport, present, type Section } from "./sections.ts";

/**
 * The report as a table of text: a line for each candidate, then its clients hit hardest.
 *
 * @param report The result of `replay`.
 */
export function replayTable(report: ReplayReport): string {
  checkReport("show a report", report);
  return textOf(reportSections(report));
}

/**
 * The report as JSON: the fields of `ReplayReport`, and a `version` of this shape. Infinite values,
 * and parts that were not asked for, are `null`.
 *
 * @param report The result of `replay`.
 *
 * @example
 * ```ts
 * import { gcra } from "tidegate";
 * import { replay, replayJson } from "tidegate/replay";
 * import assert from "node:assert/strict";
 *
 * const log = [0, 1, 2].map((at) => ({ at, key: "a", cost: 1 }));
 * const report = await replay(log, [{ algorithm: gcra({ limit: 2, period: "1s", burst: 2 }) }]);
 * const { version, candidates } = JSON.parse(replayJson(report));
 * assert.deepEqual([version, candidates[0].denied], [1, 1]);
 * ```
 */
export function replayJson(report: ReplayReport): string {
  checkReport("show a report", report);
  return jsonOf(report);
}

/**
 * Advice as text: the limits in a few sentences, whom they refuse, a picture, the lines to paste, and
 * what the log does not show.
 *
 * @param advice The result of `advise`.
 * @param log The log in the command to paste, as arguments of `replay` that also say how it is read;
 * default `"LOG"`.
 *
 * @example
 * ```ts
 * import { advise, adviceText } from "tidegate/replay";
 * import assert from "node:assert/strict";
 *
 * const log = Array.from({ length: 60 }, (_, call) => ({ at: call * 9_000, key: "a", cost: 1 }));
 * assert.match(adviceText(await advise(log)), /^Allow \d+ in 1 min, at most \d+ at once/m);
 * ```
 */
export function adviceText(advice: Advice, log: string = "LOG"): string {
  checkAdvice(advice);
  return textOf(adviceSections(advice, log));
}

/**
 * Advice as JSON: the fields of `Advice`, and a `version` of this shape.
 *
 * @param advice The result of `advise`.
 */
export function adviceJson(advice: Advice): string {
  checkAdvice(advice);
  return jsonOf(advice);
}

/** The shape has a version, so that scripts notice when it changes. */
function jsonOf(shown: object): string {
  // `JSON.stringify` writes Infinity as null; undefined becomes null so that no field is missing.
  const orNull = (_name: string, value: unknown) => value === undefined ? null : value;
  return JSON.stringify({ version: 1, ...shown }, orNull, 2);
}

function textOf(sections: readonly Section[]): string {
  return sections.map((section) => linesOf(section).join("\n"))
    .filter((text) => text !== "")
    .join("\n\n");
}

function linesOf({ heading, title, kind, lines = [], rows, code, text }: Section) {
  const isList = kind === "list";
  return present(
    isList && heading,
    title,
    ...(isList ? lines.map((line) => `- ${line}`) : lines),
    ...aligned(rows ?? []),
    ...text ?? [],
    ...code?.map((line) => `  ${line}`.trimEnd()) ?? [],
  );
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
