/*
 * Figures of the service's own health, for alerts: threads that die, rules that cannot be loaded,
 * memory that grows.
 */

import process from "node:process";

/** The service's counts about itself, apart from calls and verdicts. */
export interface ServiceEvents {
  /** Threads that died, and were started again. */
  restarts: number;
  /** Times that rules were taken from the source. */
  loads: number;
  /** Times that the source could not be used. */
  refusals: number;
  /** When the current rules were loaded, in milliseconds since the Unix epoch; 0 before. */
  loadedAt: number;
  /** When the source last could not be used, likewise. */
  refusedAt: number;
}

/** The service's counts about itself, and figures of its process, by the names of metrics. */
export function processFigures(events: ServiceEvents): Readonly<Record<string, number>> {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  return {
    tidegate_thread_restarts_total: events.restarts,
    tidegate_rules_loads_total: events.loads,
    tidegate_rules_refusals_total: events.refusals,
    tidegate_rules_loaded_timestamp_seconds: events.loadedAt / 1_000,
    process_cpu_seconds_total: (user + system) / 1e6,
    process_resident_memory_bytes: rss,
    process_heap_bytes: heapUsed,
    process_start_time_seconds: Math.round(performance.timeOrigin / 1_000),
  };
}
