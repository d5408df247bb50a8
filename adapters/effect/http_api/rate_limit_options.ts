/*
 * The options of the middleware of HttpApi: those of every HTTP adapter, with a limit in the place of
 * a limiter, and effects in the place of functions; and how a request is read.
 */

import type * as Effect from "effect/Effect";
import type * as HttpServerRequest from "effect/http/HttpServerRequest";
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint";
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup";
import * as Option from "effect/Option";

import { checkOptions, typeError } from "../../../core/options/checks.ts";
import type { RequestSource } from "../../http/address/client_key.ts";
import { gate } from "../../http/gate/gate.ts";
import {
  type AnyLimiter,
  GATE_OPTIONS,
  type RateLimitOptions as GateOptions,
} from "../../http/gate/rate_limit_options.ts";
import type { Limit } from "../limit.ts";

/** Where a request goes. */
export interface Route {
  /** The endpoint. */
  readonly endpoint: HttpApiEndpoint.Top;
  /** Its group. */
  readonly group: HttpApiGroup.Top;
}

/** A value, or an effect that finds it. */
export type Found<A, R> = A | Effect.Effect<A, never, R>;

/**
 * The options of `layerRateLimit`, which mean what they mean in every HTTP adapter; only `limit` is
 * required.
 *
 * @typeParam R What the effects among the options need.
 */
export interface RateLimitOptions<R = never> extends
  Omit<
    GateOptions<HttpServerRequest.HttpServerRequest, Route>,
    | "cost"
    | "key"
    | "limiter"
    | "now"
    | "onDecision"
    | "onFailure"
    | "onRefused"
    | "respond"
    | "skip"
  > {
  /** The limit, or a function that chooses one; `undefined` lets the request pass. */
  readonly limit:
    | Limit
    | ((request: HttpServerRequest.HttpServerRequest, route: Route) => Limit | undefined);
  /** Whose units; default the client's address. A request without a key is refused with a 400. */
  readonly key?:
    | ((request: HttpServerRequest.HttpServerRequest, route: Route) => Found<string | undefined, R>)
    | undefined;
  /** Units that a request takes; default 1. */
  readonly cost?:
    | number
    | ((request: HttpServerRequest.HttpServerRequest, route: Route) => Found<number, R>)
    | undefined;
  /** Which requests pass without a limit. */
  readonly skip?:
    | ((request: HttpServerRequest.HttpServerRequest, route: Route) => Found<boolean, R>)
    | undefined;
}

/** A request as Effect's server reads it. */
export type Request = HttpServerRequest.HttpServerRequest;

/** What the gate is given beside a request. */
export interface Info extends Route {
  readonly limiter: AnyLimiter;
  readonly key: string | undefined;
  readonly cost: number;
  readonly signal: AbortSignal;
}

const ACTION = "create layerRateLimit";
const { limiter: _limiter, respond: _respond, onRefused: _onRefused, ...OTHERS } = GATE_OPTIONS;
const { onDecision: _onDecision, onFailure: _onFailure, now: _now, ...SHARED } = OTHERS;

/**
 * Checks the options of `layerRateLimit`: those of the gate as every adapter does, with the limit in
 * the place of a limiter.
 *
 * @throws {TypeError} If an option is of the wrong type, or there is no limit.
 * @throws {RangeError} If an option is out of range, or header fields cannot express a policy.
 */
export function checkLayerOptions<R>(options: RateLimitOptions<R>): void {
  checkOptions<RateLimitOptions<R>>(ACTION, options, { ...SHARED, limit: true });
  const { limit, ...others } = options;
  const isChosen = typeof limit === "function";
  if (!isChosen && !isLimit(limit)) {
    throw typeError(ACTION, "it needs a limit, such as limit(...)", limit);
  }
  const limiter = isChosen ? limit : { algorithm: limit.algorithm, consume: limit.algorithm.step };
  const checked = { ...others, limiter: limiter as unknown as AnyLimiter };
  gate(checked as unknown as GateOptions<Request, Info>, requestSource);
}

/** How requests are read. */
export const requestSource: RequestSource<Request, Info> = {
  address: ({ peerAddress }) => Option.getOrUndefined(peerAddress),
  trustedAddress: ({ remoteAddress }) => Option.getOrUndefined(remoteAddress),
  header: ({ headers }, name) => headers[name],
  signal: (_request, { signal }) => signal,
};

function isLimit(limit: Limit | undefined): boolean {
  return typeof limit?.prefix === "string" && typeof limit.algorithm?.step === "function";
}
