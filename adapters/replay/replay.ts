/**
 * Answers what a limit would have done to yesterday's traffic. Replays an access log against
 * limits, as a fold over their reducers: whom they would have refused, for how long, and how low a
 * limit may be before it hits anybody. The answer is a table, or a page with plots.
 *
 * @example
 * ```ts
 * import { fixedWindow, gcra } from "tidegate";
 * import { readLog, replay, replayTable } from "tidegate/replay";
 * import assert from "node:assert/strict";
 *
 * const line = (second: string) =>
 *   `192.0.2.7 - - [22/Dec/2016:22:32:${second} +0000] "GET / HTTP/1.1" 200 12\n`;
 * const log = () => readLog([line("58"), line("59"), line("59"), line("59")]);
 *
 * const report = await replay(log, [
 *   { algorithm: fixedWindow({ limit: 3, period: "10s" }) },
 *   { algorithm: gcra({ limit: 6, period: "10s", burst: 1 }) },
 * ]);
 * assert.deepEqual(report.candidates.map(({ denied }) => denied), [1, 3]);
 * console.log(replayTable(report));
 * ```
 *
 * @module
 */

export type { Advice, HeavyClient, NeedBin, OddClient, PartAdvice } from "./advise/advice.ts";
export { advise, type AdviseOptions } from "./advise/advise.ts";
export type { AdvisedLimit } from "./advise/choose_limits.ts";
export type { LogFormat } from "./log/layout.ts";
export type { TextSource } from "./log/read_blocks.ts";
export type { ColumnOptions, LogRecord, ReadLogOptions } from "./log/parse_block.ts";
export { type NamedLog, readLog, readTrace, type ReadTraceOptions } from "./log/read_log.ts";
export {
  type LogEntry,
  type LogFacts,
  type LogSource,
  type LogTotals,
  type RequestsSeen,
  type Trace,
  type UnreadLine,
} from "./log/trace.ts";
export { type Candidate, replay, type ReplayOptions } from "./replay_log.ts";
export { replayRules } from "./replay_rules.ts";
export { replayPage, type ReplayPageOptions } from "./output/replay_page.ts";
export { adviceJson, adviceText, replayJson, replayTable } from "./output/report_text.ts";
export type { CandidateReport, ClientReport, ReplayReport } from "./replay_report.ts";
export type { TimeBins } from "./time_bins.ts";
