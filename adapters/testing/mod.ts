/**
 * @module
 */

export * from "./algorithm_laws.ts";
export * from "./bound.ts";
export * from "./law.ts";
export * from "./ledger.ts";
export * from "./models/all_rule.ts";
export * from "./models/fixed_window_rule.ts";
export * from "./models/gcra_rule.ts";
export * from "./models/judge.ts";
export * from "./models/leaky_bucket_rule.ts";
export * from "./models/leaky_queue_rule.ts";
export * from "./models/model.ts";
export type { RateRuleOptions } from "./models/rate.ts";
export * from "./models/rule.ts";
export * from "./models/sliding_counter_rule.ts";
export * from "./models/sliding_log_rule.ts";
export * from "./models/sliding_window_rule.ts";
export * from "./models/token_bucket_rule.ts";
export * from "./policies.ts";
export * from "./schedule.ts";
export * from "./schedules.ts";
export * from "./subject.ts";
export * from "./subjects.ts";
export * from "./table.ts";
