/*
 * A report for programs. The shape has a version, so that scripts notice when it changes.
 */

import type { ReplayReport } from "../replay_report.ts";
import type { SweepReport } from "../sweep.ts";
import { checkReport } from "./check_report.ts";

/**
 * The report as JSON: the fields of `ReplayReport`, a `version` of this shape, and `sweeps`.
 * Infinite values, and parts that were not asked for, are `null`.
 *
 * @param report The result of `replay`.
 * @param sweeps The result of `sweep`, to include it.
 *
 * @example
 * ```ts
 * import { gcra } from "tidegate";
 * import { replay, replayJson } from "tidegate/replay";
 * import assert from "node:assert/strict";
 *
 * const log = [0, 1, 2].map((at) => ({ at, key: "a", cost: 1 }));
 * const report = await replay(log, [{ algorithm: gcra({ limit: 2, period: "1s" }) }]);
 * const { version, candidates } = JSON.parse(replayJson(report));
 * assert.deepEqual([version, candidates[0].denied], [1, 1]);
 * ```
 */
export function replayJson(report: ReplayReport, sweeps: readonly SweepReport[] = []): string {
  checkReport("show a report", report);
  // `JSON.stringify` writes Infinity as null; undefined becomes null so that no field is missing.
  const orNull = (_name: string, value: unknown) => value === undefined ? null : value;
  return JSON.stringify({ version: 1, ...report, sweeps }, orNull, 2);
}
