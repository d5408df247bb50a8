/*
 * A report for programs. The shape has a version, so that scripts notice when it changes.
 */

import type { ReplayReport } from "../replay_report.ts";
import { checkReport } from "./check_report.ts";

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
  // `JSON.stringify` writes Infinity as null; undefined becomes null so that no field is missing.
  const orNull = (_name: string, value: unknown) => value === undefined ? null : value;
  return JSON.stringify({ version: 1, ...report }, orNull, 2);
}
