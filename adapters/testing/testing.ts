/**
 * The laws of rate limiting, for anyone to run: on an algorithm, a store or a limiter of one's own,
 * or on a service that keeps limits. Built on fast-check, 3.10 or later.
 *
 * - `algorithmLaws`, `storeLaws`, `scheduledStoreLaws` and `limiterLaws` return named properties that
 *   run under any runner; a counterexample prints as a table of time, cost, decision and what was
 *   expected.
 * - `driverLaws` are the laws of a database's driver, without a store around it.
 * - `subjects` and `algorithms` draw random algorithms with awkward options; `schedules` draws calls
 *   on a key, and `follow` plays them on anything that answers with decisions.
 * - `gcraRule`, `slidingLogRule`, ... state each algorithm by its definition, in whole numbers of any
 *   size; `model` answers by one.
 * - `storeCommands` are commands for fast-check's model runs of a store; `referenceStore` says what
 *   it should answer; `linearization` whether callers at once were answered in some order.
 * - `virtualClock` puts time and waiting into a test's own hands; `scheduledStore` the order in which
 *   an asynchronous store answers.
 *
 * @example The laws of one algorithm
 * ```ts
 * import { slidingWindow } from "tidegate";
 * import { algorithmLaws } from "tidegate/testing";
 *
 * const algorithm = slidingWindow({ limit: 100, period: "1m", precision: "1s" });
 * for (const law of algorithmLaws(algorithm)) law.run({ numRuns: 20 });
 * ```
 *
 * @module
 */

export * from "./algorithm_laws.ts";
export * from "./bound.ts";
export * from "./driver_laws.ts";
export * from "./law.ts";
export { blockLaws } from "./laws/block_laws.ts";
export type { MakeStore } from "./laws/store_fixture.ts";
export * from "./ledger.ts";
export * from "./limiter_laws.ts";
export * from "./linearization.ts";
export * from "./models/all_rule.ts";
export * from "./models/permit_model.ts";
export * from "./permit_laws.ts";
export { judge, type Judgement, type Model, model } from "./models/judge.ts";
export * from "./models/log_rules.ts";
export * from "./models/rate_rules.ts";
export * from "./models/algorithm_rule.ts";
export * from "./models/calendar_rule.ts";
export * from "./models/window_rules.ts";
export * from "./arbitraries/policies.ts";
export * from "./stores/reference_store.ts";
export * from "./stores/scheduled_store.ts";
export * from "./arbitraries/schedules.ts";
export * from "./stores/store_commands.ts";
export * from "./store_laws.ts";
export * from "./stores/tested_key.ts";
export {
  algorithms,
  gridsOf,
  type KindName,
  type Subject,
  type SubjectName,
  type Subjects,
  subjects,
} from "./arbitraries/subjects.ts";
export type { AlgorithmName } from "../../core/rules/limit_options.ts";
export * from "./table.ts";
export * from "./virtual_clock.ts";
