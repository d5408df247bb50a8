/*
 * A request as the gate reads it: Effect's own request, and the results of the options' effects.
 */
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint";
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup";
import * as Option from "effect/Option";

import type { RequestSource } from "../../http/address/client_key.ts";
import type { AnyLimiter } from "../../http/gate/rate_limit_options.ts";
import type { HttpServerRequest } from "../needs_effect_4_1.ts";

/** A request as Effect's server reads it. */
export type Request = HttpServerRequest.HttpServerRequest;

/** Where a request goes. */
export interface Route {
  /** The endpoint. */
  readonly endpoint: HttpApiEndpoint.Top;
  /** Its group. */
  readonly group: HttpApiGroup.Top;
}

/** A request's call on one limit. */
export interface FoundCall {
  readonly limiter: AnyLimiter;
  readonly key: string | undefined;
  readonly cost: number;
}

/** The gate's data for a request, apart from the request itself. */
export interface Info extends Route {
  /**
   * The value for each limit, in order; `undefined` for a limit that does not hold for the request.
   */
  readonly calls: readonly (FoundCall | undefined)[];
  readonly signal: AbortSignal;
}

/** How requests are read. */
export const requestSource: RequestSource<Request, Info> = {
  address: ({ peerAddress }) => Option.getOrUndefined(peerAddress),
  trustedAddress: ({ remoteAddress }) => Option.getOrUndefined(remoteAddress),
  header: ({ headers }, name) => headers[name],
  signal: (_request, { signal }) => signal,
};
