/**
 * Stores made of stores: one answers refusals from memory, one takes units a block at a time, and one
 * uses another store while the first is away. They compose, and work over any store. And stores made of
 * drivers: for a database that compares and sets, and for a database that is locked.
 *
 * @example
 * ```ts
 * import { gcra, limiter, memoryStore } from "tidegate";
 * import { denyCache, lease } from "tidegate/stores";
 *
 * const store = denyCache(lease(memoryStore(), { units: 10, ttl: "50ms" }));
 * const api = limiter(gcra({ limit: 100, period: "1m", burst: 100 }), { store, prefix: "api" });
 * console.log(api.consume("user:42").allowed);
 * ```
 *
 * @module
 */

export { denyCache, type DenyCacheOptions } from "./layered/deny_cache.ts";
export { fallback, type FallbackOptions } from "./layered/fallback.ts";
export { lease, type LeaseOptions } from "./layered/lease.ts";
export {
  type CompareAndSet,
  type DriverCell,
  type DriverCommit,
  DriverError,
  type DriverErrorOptions,
  type Housekeeping,
  type ListedText,
  type LostGroup,
} from "./driver.ts";
export {
  compareAndSetStore,
  type DriverStore,
  type DriverStoreStatistics,
} from "./optimistic/compare_and_set.ts";
export type { ServerStoreStatistics } from "./optimistic/server_statistics.ts";
export type { Outage } from "./optimistic/circuit_breaker.ts";
export type { DriverStoreOptions } from "./optimistic/engine_options.ts";
export {
  lockedStore,
  type LockedStoreExtras,
  type LockedStoreStatistics,
} from "./locked/locked_store.ts";
export type { LockedStoreOptions } from "./locked/locked_options.ts";
export type { LockedTransaction, LockedWork } from "./locked/locked_transaction.ts";
