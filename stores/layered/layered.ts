/*
 * Stores made of stores; `stores/stores.ts` says what they are for.
 */

export { denyCache, type DenyCacheOptions } from "./deny_cache.ts";
export { fallback, type FallbackOptions } from "./fallback.ts";
export { lease, type LeaseOptions } from "./lease.ts";
export { type DriverCell, DriverError, type DriverErrorOptions } from "../driver.ts";
export {
  lockedStore,
  type LockedStoreExtras,
  type LockedStoreStatistics,
} from "../locked/locked_store.ts";
export type { LockedStoreOptions } from "../locked/locked_options.ts";
export type { LockedTransaction, LockedWork } from "../locked/locked_transaction.ts";
