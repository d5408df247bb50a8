/**
 * @module
 */

export * from "./algorithm_laws.ts";
export * from "./bound.ts";
export * from "./law.ts";
export type { MakeStore } from "./laws/store_bench.ts";
export * from "./ledger.ts";
export * from "./limiter_laws.ts";
export * from "./linearization.ts";
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
export * from "./reference_store.ts";
export * from "./schedule.ts";
export * from "./scheduled_store.ts";
export * from "./schedules.ts";
export * from "./store_commands.ts";
export * from "./store_laws.ts";
export * from "./store_slots.ts";
export * from "./subject.ts";
export * from "./subjects.ts";
export * from "./table.ts";
export * from "./virtual_clock.ts";
