/**
 * Rate limiting for servers that speak fetch: Bun.serve, Deno.serve and workers; and what all
 * adapters are made of.
 *
 * A client that is within the limit gets the handler's response with the `RateLimit` fields of the
 * IETF's draft; one that is above it a 429 with `Retry-After` and a problem as JSON.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { rateLimit } from "tidegate/http";
 * import assert from "node:assert/strict";
 *
 * const users = new Map([["k1", "ada"]]);
 * const limited = rateLimit({
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

import { clientKeyOf } from "./address/client_key.ts";
import { fetchSource } from "./servers/fetch_response.ts";
import type { ClientKeyOptions } from "./gate/rate_limit_options.ts";

/**
 * Makes the default `key`, to be combined with something else.
 *
 * @param options Whom to believe about addresses, as in `rateLimit`.
 * @returns What finds the key of a request's client, its address; `undefined` if it is not known.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { clientKey, rateLimit } from "tidegate/http";
 *
 * const client = clientKey({ trustedProxies: ["10.0.0.0/8"] });
 * const limited = rateLimit({
 *   limiter: limiter(gcra({ limit: 5, period: "1m" })),
 *   key: (request, info) => `${client(request, info)} ${new URL(request.url).pathname}`,
 * });
 * ```
 */
export function clientKey<Info = unknown>(
  options: ClientKeyOptions<Request, Info> = {},
): (request: Request, info: Info) => string | undefined {
  return clientKeyOf(options, fetchSource);
}

export { addressKey } from "./address/address_key.ts";
export {
  type ClientAddress,
  clientAddress,
  type ForwardingOptions,
} from "./address/client_address.ts";
export type { RequestSource } from "./address/client_key.ts";
export {
  type Answer,
  type FetchHandler,
  type LimitedHandler,
  rateLimit,
} from "./servers/fetch_handler.ts";
export { type Gate, gate, type Verdict } from "./gate/gate.ts";
export { retryAfterField } from "./fields/retry_after.ts";
export type { HeaderForm } from "./fields/header_form.ts";
export {
  type HeaderField,
  type HeaderWriter,
  headerWriter,
  type HeaderWriterOptions,
  type QuotaLeft,
  type QuotaUnit,
} from "./fields/header_writer.ts";
export type {
  AnyLimiter,
  Awaitable,
  ClientKeyOptions,
  Outcome,
  RateLimitOptions,
} from "./gate/rate_limit_options.ts";
export { type Problem, problem, PROBLEM_TYPE, type ProblemKind } from "./gate/problem.ts";
export type { Refusal } from "./gate/refusal.ts";
