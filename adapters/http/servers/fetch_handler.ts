import { andThen, type MaybePromise, orElse } from "../../../core/maybe_promise.ts";
import { checkFunction } from "../../../core/options/checks.ts";
import type { Decision } from "../../../core/decision.ts";
import {
  fetchOutcome,
  fetchSource,
  finishResponse,
  isResponse,
  refusedResponse,
} from "./fetch_response.ts";
import { clientKeyOf } from "../address/client_key.ts";
import { nativePromise } from "../native_promise.ts";
import { gate, type Verdict } from "../gate/gate.ts";
import type { Awaitable, ClientKeyOptions, RateLimitOptions } from "../gate/rate_limit_options.ts";

/** What a handler answers; nothing when it has upgraded the request to a websocket, on Bun. */
export type Answer = Response | undefined | void;

/**
 * A handler in the style of fetch: what Bun.serve and Deno.serve call, and workers.
 *
 * @typeParam Info What the server hands over with the request.
 * @typeParam Answers `Response`; on Bun perhaps `undefined` as well.
 */
export type FetchHandler<Info, Answers extends Answer> = (
  request: Request,
  info: Info,
  decision: Decision | undefined,
) => Awaitable<Answers>;

/** A handler with a gate before it. */
export type LimitedHandler<Info, Answers extends Answer> = (
  request: Request,
  info?: Info,
) => Awaitable<Answers | Response>;

/**
 * Limits the rate of a handler.
 *
 * @param options Only `limiter` is required.
 * @returns What takes the handler and returns the limited one. The handler is called with the
 * request, what the server handed over with it, and the decision.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range, or a policy cannot stand in header fields.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { rateLimit } from "tidegate/http";
 *
 * const limited = rateLimit({
 *   limiter: limiter(gcra({ limit: 100, period: "1m" })),
 *   trustedProxies: ["loopback"],
 * });
 * const fetch = limited((_request, _info, decision) => {
 *   return new Response(`${decision?.remaining} left`);
 * });
 * // Bun.serve({ fetch }); Deno.serve(fetch);
 * ```
 */
export function rateLimit<Info = unknown>(
  options: RateLimitOptions<Request, Info>,
): <Answers extends Answer>(handler: FetchHandler<Info, Answers>) => LimitedHandler<Info, Answers> {
  const decide = gate(options, fetchSource);
  const { onRefused } = options;

  function answer<Answers extends Answer>(
    verdict: Verdict,
    handler: FetchHandler<Info, Answers>,
    request: Request,
    info: Info,
  ): MaybePromise<Answers | Response> {
    const { refusal, headers } = verdict;
    if (refusal === undefined) return proceed(verdict, handler, request, info);
    return refusedResponse(
      onRefused && (() => onRefused(refusal, request, info)),
      refusal,
      headers,
    );
  }

  return function limit(handler) {
    checkFunction("limit a handler", "handler", handler);
    return function limited(request, info) {
      const verdict = decide(request, info!);
      return nativePromise(andThen(verdict, (verdict) => answer(verdict, handler, request, info!)));
    };
  };
}

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

function proceed<Info, Answers extends Answer>(
  { decision, headers, settle }: Verdict,
  handler: FetchHandler<Info, Answers>,
  request: Request,
  info: Info,
): MaybePromise<Answers | Response> {
  // Some servers never abort a signal that is first read when the client has gone.
  const signal = settle && request.signal;
  const finish = (answer: Answers) => {
    const response = isResponse(answer) ? answer : undefined;
    settle?.(fetchOutcome({ status: response?.status ?? 101, response }, signal));
    return response === undefined ? answer : finishResponse(response, headers);
  };
  const call = () => andThen<Answers, Answers | Response>(handler(request, info, decision), finish);
  return settle === undefined ? call() : orElse(call, (error) => {
    settle(fetchOutcome({ status: 500, error }, signal));
    throw error;
  });
}
