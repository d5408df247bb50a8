/**
 * Stores made of stores: refusals answered from memory, units taken a block at a time, another
 * store for when the first is away. They compose, and work over any store.
 *
 * @example
 * ```ts
 * import { gcra, limiter, memoryStore } from "tidegate";
 * import { denyCache, lease } from "tidegate/stores";
 *
 * const store = denyCache(lease(memoryStore(), { units: 10, ttl: "50ms" }));
 * const api = limiter(gcra({ limit: 100, period: "1m" }), { store, prefix: "api" });
 * console.log(api.consume("user:42").allowed);
 * ```
 *
 * @module
 */

export { denyCache, type DenyCacheOptions } from "./deny_cache.ts";
export { fallback, type FallbackOptions } from "./fallback.ts";
export { lease, type LeaseOptions } from "./lease.ts";
