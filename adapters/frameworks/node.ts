/**
 * Rate limiting for servers of node:http, node:https and node:http2's compatible interface.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { limitHandler } from "tidegate/node";
 * import { createServer } from "node:http";
 *
 * const limited = limitHandler({ limiter: limiter(gcra({ limit: 100, period: "1m", burst: 100 })) });
 * const server = createServer(limited((_request, response, decision) => {
 *   response.end(`${decision?.remaining} left`);
 * }));
 * // server.listen(8080);
 * ```
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";

import { checkFunction, checkOptions } from "../../core/options/checks.ts";
import type { Decision } from "../../core/decision.ts";
import { firstPrinted, guarded } from "../../core/guarded.ts";
import { clientKeyOf, type RequestSource } from "../http/address/client_key.ts";
import { checkNumbers } from "../http/limits/check_numbers.ts";
import {
  limitOnNode,
  type NodeReplies,
  nodeReplies,
  nodeSource,
} from "../http/servers/node_response.ts";
import {
  type ClientKeyOptions,
  GATE_OPTIONS,
  type RateLimitOptions,
} from "../http/gate/rate_limit_options.ts";

/** A request of node:http, or of node:http2's compatible interface. */
export type NodeRequest = IncomingMessage | Http2ServerRequest;

/** A response of node:http, or of node:http2's compatible interface. */
export type NodeResponse = ServerResponse | Http2ServerResponse;

/** The options of `limitHandler`. Its functions receive the request and the response. */
export type NodeRateLimitOptions<
  Request extends NodeRequest = IncomingMessage,
  Response extends NodeResponse = ServerResponse,
> = RateLimitOptions<Request, Response> & ErrorOptions<Request>;

/** The options of errors. */
export interface ErrorOptions<Request> {
  /**
   * Called when `limiter`, `key`, `cost` or `skip` has failed, or the address of a client is not known
   * and there is no `unknownAddress`; by default the error is printed. The client is answered with a
   * 500.
   */
  readonly onError?: ((error: unknown, request: Request) => void) | undefined;
}

/** A handler of node:http, which receives the decision as well. */
export type NodeHandler<
  Request extends NodeRequest = IncomingMessage,
  Response extends NodeResponse = ServerResponse,
> = (
  request: Request,
  response: Response,
  decision: Decision | undefined,
) => void | Promise<void>;

/** A handler with a gate before it, for `createServer`. */
export type LimitedNodeHandler<
  Request extends NodeRequest = IncomingMessage,
  Response extends NodeResponse = ServerResponse,
> = (request: Request, response: Response) => void;

/**
 * Limits the rate of a handler.
 *
 * For a server of node:http2, pass its types: `limitHandler<Http2ServerRequest,
 * Http2ServerResponse>(options)`.
 *
 * @param options Only `limiter` is required.
 * @returns A function that takes a handler and returns the limited handler, for `createServer`.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range, or a policy cannot stand in header fields.
 */
export function limitHandler<
  Request extends NodeRequest = IncomingMessage,
  Response extends NodeResponse = ServerResponse,
>(
  options: NodeRateLimitOptions<Request, Response>,
): (
  handler: NodeHandler<NoInfer<Request>, NoInfer<Response>>,
) => LimitedNodeHandler<NoInfer<Request>, NoInfer<Response>> {
  const replies = nodeReplies as unknown as NodeReplies<Request, Response>;
  checkNumbers("create rateLimit", options ?? {});
  checkOptions("create rateLimit", options, {
    ...GATE_OPTIONS,
    onError: checkFunction,
  });
  const { onError = (error: unknown) => console.error(error), ...others } = options;
  const limited = limitOnNode<Request, Response>(
    others as RateLimitOptions<Request, Response>,
    source,
    replies,
  );
  const report = guarded(onError, firstPrinted());
  return function limit(handler) {
    checkFunction("limit a handler", "handler", handler);
    return (request, response) =>
      limited(
        request,
        response,
        (decision) => handler(request, response, decision),
        (error) => {
          report(error, request);
          replies.refuse(response, { status: 500, contentType: "text/plain", body: "" });
        },
      );
  };
}

/**
 * Makes the default `key` function, on which a key of your own can build.
 *
 * @param options The proxies to trust about addresses, as in `rateLimit`.
 * @returns A function that returns the key of a client's address, or `undefined` if the address is
 *   unknown.
 */
export function clientKey<
  Request extends NodeRequest = IncomingMessage,
  Response extends NodeResponse = ServerResponse,
>(
  options: ClientKeyOptions<Request, Response> = {},
): (request: Request, response: Response) => string | undefined {
  return clientKeyOf<Request, Response>(options, source);
}

/** Both kinds of requests and responses are read in the same way. */
const source = nodeSource as unknown as RequestSource<NodeRequest, NodeResponse>;
