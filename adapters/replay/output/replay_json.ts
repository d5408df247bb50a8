import type { ReplayReport } from "../replay_report.ts";
import type { SweepReport } from "../sweep.ts";

/**
 * The report as JSON: the fields of `ReplayReport`, a `version` of this shape, and `sweeps`. What
 * never ends, is never enough or was not asked for is `null`.
 *
 * @param report What `replay` returned.
 * @param sweeps What `sweep` returned, if that is to be in it, too.
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
  // JSON has no Infinity, and says null for it; what is undefined is null, so that it is there.
  const orNull = (_name: string, value: unknown) => value === undefined ? null : value;
  return JSON.stringify({ version: 1, ...report, sweeps }, orNull, 2);
}
