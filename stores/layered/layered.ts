/*
 * Stores made of stores; `stores/stores.ts` describes their purposes.
 */

export { denyCache, type DenyCacheOptions } from "./deny_cache.ts";
export { fallback, type FallbackOptions } from "./fallback.ts";
export { lease, type LeaseOptions } from "./lease.ts";
