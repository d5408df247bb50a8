/**
 * Rate limiting for fetch-style servers (Bun.serve, Deno.serve and workers), and the parts that all
 * adapters are made of.
 *
 * A client within the limit gets the handler's response with the `RateLimit` fields of the IETF's
 * draft. A client above the limit gets a 429 with `Retry-After` and a problem as JSON.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { limitHandler } from "tidegate/http";
 * import assert from "node:assert/strict";
 *
 * const users = new Map([["k1", "ada"]]);
 * const limited = limitHandler({
 *   limiter: limiter(gcra({ limit: 100, period: "1m", burst: 1 })),
 *   key: ({ headers }) => users.get(headers.get("x-api-key") ?? ""),
 * });
 * const fetch = limited(() => new Response("hello"));
 * // Bun.serve({ fetch }); Deno.serve(fetch);
 *
 * const request = new Request("http://localhost/", { headers: { "x-api-key": "k1" } });
 * assert.equal((await fetch(request, undefined))?.status, 200);
 * assert.equal((await fetch(request, undefined))?.status, 429);
 * ```
 *
 * @module
 */

export { addressKey } from "./address/address_key.ts";
export {
  type ClientAddress,
  clientAddress,
  type ForwardingOptions,
} from "./address/client_address.ts";
export type { RequestSource } from "./address/client_key.ts";
export {
  type HeaderField,
  type HeaderForm,
  type HeaderWriter,
  headerWriter,
  type HeaderWriterOptions,
  type QuotaLeft,
  type QuotaUnit,
  retryAfterField,
} from "./fields/header_writer.ts";
export * from "./gate/gate.ts";
export * from "./gate/problem.ts";
export type {
  AnyLimiter,
  Awaitable,
  ClientKeyOptions,
  DelayOptions,
  GateSettings,
  LimitByChoice,
  LimitByRules,
  Outcome,
  RateLimitOptions,
} from "./gate/rate_limit_options.ts";
export type {
  KeptUse,
  LimitByLimiter,
  LimitByNumbers,
  LimitByPolicy,
  LimitCallOptions,
  LimitChoice,
  RequestLimit,
  SeveralLimits,
  Without,
} from "./limits/limit_options.ts";
export type { RequestRules, RuleCall, RulesDecision } from "./gate/request_rules.ts";
export type { Refusal } from "./gate/refusal.ts";
export * from "./servers/fetch_handler.ts";
