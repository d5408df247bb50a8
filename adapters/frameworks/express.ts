/**
 * Rate limiting for Express 5 and 4.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { decisionOf, rateLimit } from "tidegate/express";
 * import express from "express";
 *
 * const app = express();
 * app.use(rateLimit({ limiter: limiter(gcra({ limit: 100, period: "1m", burst: 100 })) }));
 * app.get("/", (_request, response) => {
 *   response.send(`${decisionOf(response)?.remaining} left`);
 * });
 * // app.listen(8080);
 * ```
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from "node:http";

import type { Decision } from "../../core/decision.ts";
import { clientKeyOf, type RequestSource } from "../http/address/client_key.ts";
import { type HitStore, hitStore, type HitStoreOptions } from "./hit_stores.ts";
import {
  limitOnNode,
  type NodeReplies,
  nodeReplies,
  nodeSource,
} from "../http/servers/node_response.ts";
import type { ClientKeyOptions, RateLimitOptions } from "../http/gate/rate_limit_options.ts";

/** The part of Express's request that is needed. */
export interface ExpressRequest extends IncomingMessage {
  /** The client's address, by the app's setting `trust proxy`. */
  readonly ip?: string | undefined;
}

/** The part of Express's response that is needed. */
export interface ExpressResponse extends ServerResponse {
  /** Values for later handlers; `rateLimit` holds the decision. */
  // deno-lint-ignore no-explicit-any
  locals: Record<string, any>;
}

/** Express's `next`. */
export type ExpressNext = (error?: unknown) => void;

/** A middleware of Express. */
export type ExpressMiddleware<Request extends ExpressRequest> = (
  request: Request,
  response: ExpressResponse,
  next: ExpressNext,
) => void;

/**
 * Makes a middleware that limits the rate.
 *
 * The client's address is the socket's address, unless the app's setting `trust proxy` names
 * proxies. `trustedProxies` overrides that setting.
 *
 * @param options Only `limiter` is required. Its functions receive the request and the response.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range, or a policy cannot stand in header fields.
 */
export function rateLimit<Request extends ExpressRequest = ExpressRequest>(
  options: RateLimitOptions<Request, ExpressResponse>,
): ExpressMiddleware<Request> {
  const limit = limitOnNode(options, source, replies);
  return (request, response, next) => limit(request, response, () => next(), next);
}

/** The decision about the request that a response belongs to; `undefined` if it was not limited. */
export function decisionOf(response: Pick<ExpressResponse, "locals">): Decision | undefined {
  return response.locals["rateLimit"];
}

/**
 * Makes the default `key` function, on which a key of your own can build.
 *
 * @param options The proxies to trust about addresses, as in `rateLimit`.
 * @returns A function that returns the key of a client's address, or `undefined` if the address is
 *   unknown.
 */
export function clientKey<Request extends ExpressRequest = ExpressRequest>(
  options: ClientKeyOptions<Request, ExpressResponse> = {},
): (request: Request, response: ExpressResponse) => string | undefined {
  return clientKeyOf(options, source);
}

/**
 * A store for express-rate-limit, so that its counts are shared by threads or machines.
 *
 * @param options Where to count.
 * @returns The option `store` of express-rate-limit.
 * @throws {TypeError} If there is a store without a prefix.
 *
 * @example
 * ```ts
 * import { memoryStore } from "tidegate";
 * import { expressRateLimitStore } from "tidegate/express";
 * import { rateLimit } from "express-rate-limit";
 *
 * const store = memoryStore(); // or that of tidegate/shared, or of tidegate/redis
 * const limit = rateLimit({
 *   windowMs: 60_000,
 *   limit: 100,
 *   store: expressRateLimitStore({ store, prefix: "web" }),
 * });
 * // app.use(limit);
 * ```
 */
export const expressRateLimitStore: (options?: HitStoreOptions) => HitStore = hitStore;

export type { HitInfo, HitStore, HitStoreOptions } from "./hit_stores.ts";

const replies: NodeReplies<unknown, ExpressResponse> = {
  ...nodeReplies,
  keep: (decision, _request, response) => response.locals["rateLimit"] = decision,
};

let saidTrustAll = false;

/** Logs a line once if the app believes clients about their addresses. */
function noticeTrustAll(request: ExpressRequest): void {
  if (saidTrustAll || request.headers["x-forwarded-for"] === undefined) return;
  const { app } = request as { readonly app?: { get?(setting: string): unknown } };
  if (app?.get?.("trust proxy") !== true) return;
  saidTrustAll = true;
  console.warn(
    "Express's setting `trust proxy` is true, so clients can choose their own addresses, and no " +
      "limit holds: name your proxies in it, or in trustedProxies (docs/errors.md#trust-proxy-is-true)",
  );
}

const source: RequestSource<ExpressRequest, ExpressResponse> = {
  ...nodeSource,
  trustedAddress(request) {
    noticeTrustAll(request);
    return request.ip;
  },
  ignoresCase: (request) => !isEnabled(request, "case sensitive routing"),
  trustsProxies: (request) => isEnabled(request, "trust proxy"),
};

function isEnabled(request: ExpressRequest, setting: string): boolean {
  const { app } = request as { readonly app?: { enabled?(setting: string): boolean } };
  return app?.enabled?.(setting) === true;
}
