/**
 * Rate limiting for servers of node:http, node:https and node:http2's compatible interface.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { rateLimit } from "tidegate/node";
 * import { createServer } from "node:http";
 *
 * const limited = rateLimit({ limiter: limiter(gcra({ limit: 100, period: "1m" })) });
 * const server = createServer(limited((_request, response, decision) => {
 *   response.end(`${decision?.remaining} left`);
 * }));
 * // server.listen(8080);
 * ```
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from "node:http";

import type { Decision } from "../core/decision.ts";
import { clientKeyOf } from "./http/client_key.ts";
import { gate, type Verdict } from "./http/gate.ts";
import { admitOnNode, nodeSource, refuseOnNode } from "./http/node_response.ts";
import type { ClientKeyOptions, RateLimitOptions } from "./http/options.ts";

/** The options of `rateLimit`; the functions among them are given the request and the response. */
export interface NodeRateLimitOptions extends RateLimitOptions<IncomingMessage, ServerResponse> {
  /**
   * Told when an option's function has failed, or the address of a client is not known and there is
   * no `unknownAddress`; by default the error is printed. The client is answered with a 500.
   */
  readonly onError?: ((error: unknown, request: IncomingMessage) => void) | undefined;
}

/** A handler of node:http, told the decision as well. */
export type NodeHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  decision: Decision | undefined,
) => void | Promise<void>;

/**
 * Limits the rate of a handler.
 *
 * @param options Only `limiter` is required.
 * @returns What takes the handler and returns the limited one, for `createServer`.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range, or a policy cannot be told in header fields.
 */
export function rateLimit(
  options: NodeRateLimitOptions,
): (handler: NodeHandler) => (request: IncomingMessage, response: ServerResponse) => void {
  const decide = gate(options, nodeSource);
  const { onError = (error: unknown) => console.error(error) } = options;

  return function limit(handler) {
    function proceed(verdict: Verdict, request: IncomingMessage, response: ServerResponse) {
      if (verdict.refusal !== undefined) {
        return refuseOnNode(response, verdict.refusal, verdict.headers);
      }
      // Somebody else has answered while the request waited for its verdict.
      if (response.writableEnded) return;
      admitOnNode(response, verdict);
      return handler(request, response, verdict.decision);
    }

    function fail(error: unknown, request: IncomingMessage, response: ServerResponse): void {
      onError(error, request);
      refuseOnNode(response, { status: 500, contentType: "text/plain", body: "" }, []);
    }

    // An error of the handler is its own; one before it must not end the server.
    return function limited(request, response) {
      let verdict: Verdict | Promise<Verdict>;
      try {
        verdict = decide(request, response);
      } catch (error) {
        return fail(error, request, response);
      }
      if (!(verdict instanceof Promise)) return proceed(verdict, request, response) as void;
      verdict.then(
        (verdict) => proceed(verdict, request, response),
        (error) => fail(error, request, response),
      );
    };
  };
}

/**
 * Makes the default `key`, to be combined with something else.
 *
 * @param options Whom to believe about addresses, as in `rateLimit`.
 * @returns What tells the key of a request's client, its address; `undefined` if it is not known.
 */
export function clientKey(
  options: ClientKeyOptions<IncomingMessage, ServerResponse> = {},
): (request: IncomingMessage, response: ServerResponse) => string | undefined {
  return clientKeyOf(options, nodeSource);
}
