/**
 * Rate limiting for Effect programs: limits as plain values, the counters in a layer, refusals as
 * typed errors, and waiting that an interrupt undoes.
 *
 * The service `RateLimiter` holds a store; `layerMemory` keeps the counters in the process, and the
 * other layers in shared memory or on Redis, with no change to the program. The time comes from the
 * fiber's `Clock`, so that a `TestClock` drives verdicts and waiting alike. Effect is a peer: `npm
 * install effect`.
 *
 * @example
 * ```ts
 * import { Effect } from "effect";
 * import { gcra } from "tidegate";
 * import { layerMemory, limit, withLimit } from "tidegate/effect";
 * import assert from "node:assert/strict";
 *
 * const login = limit("login", gcra({ limit: 5, period: "1m", burst: 1 }));
 * const attempt = Effect.succeed("welcome").pipe(withLimit({ limit: login, key: "user:42" }));
 *
 * const program = Effect.gen(function* () {
 *   yield* attempt;
 *   return yield* Effect.flip(attempt);
 * });
 * const error = await Effect.runPromise(Effect.provide(program, layerMemory()));
 * assert.equal(error.reason._tag, "RateLimited");
 * ```
 *
 * @module
 */

export type { Admission } from "./admission.ts";
export { Decision } from "./decision.ts";
export * from "./errors.ts";
export type { HeldPermit, HoldOptions } from "./held_permit.ts";
export * from "./http_api/rate_limit_middleware.ts";
export type {
  Found,
  LimitCallOptions,
  LimitOption,
  RateLimitOptions,
  RequestLimit,
} from "./http_api/rate_limit_options.ts";
export * from "./http_api/rate_limit_problems.ts";
export type { Route } from "./http_api/request_source.ts";
export * from "./layers.ts";
export * from "./limit.ts";
export { limitConfig } from "./limit_config.ts";
export { decisionsMetric, unitsMetric, waitMetric } from "./limit_metrics.ts";
export { layerRateLimiterStore } from "./rate_limiter_store.ts";
export {
  algorithmOf,
  type AllPolicy,
  type InDurations,
  Policy,
  type PolicyOptions,
  type SinglePolicy,
} from "./policy.ts";
export * from "./rate_limiter.ts";
export type { Reservation, Settlement } from "./receipts.ts";
export * from "./with_limit.ts";
export * from "./with_permit.ts";
