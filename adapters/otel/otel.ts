/**
 * OpenTelemetry: a store that has a span and metrics for each decision, by the package
 * `@opentelemetry/api`, for limiters, rules and everything else that decides on a store. Spans and
 * metrics contain no keys.
 *
 * @example
 * ```ts
 * import { gcra, limiter, memoryStore } from "tidegate";
 * import { openTelemetryStore } from "tidegate/otel";
 *
 * const store = openTelemetryStore(memoryStore());
 * const limits = limiter(gcra({ limit: 100, period: "1m", burst: 100, name: "api" }), { store, prefix: "api" });
 * limits.consume("user-42"); // a span "tidegate.decide", with tidegate.policy "api"
 * ```
 *
 * @module
 */

export { type OpenTelemetryOptions, openTelemetryStore } from "./open_telemetry_store.ts";
export type { Store } from "../../core/store.ts";
