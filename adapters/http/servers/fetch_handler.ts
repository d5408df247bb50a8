/*
 * Rate limits for handlers in the style of fetch, on Bun, Deno and workers. The gate decides; this
 * file runs the handler and completes its response.
 */

import { isPromise } from "../../../core/maybe_promise.ts";
import { checkFunction } from "../../../core/options/checks.ts";
import type { Decision } from "../../../core/decision.ts";
import {
  fetchOutcome,
  fetchSource,
  finishResponse,
  isResponse,
  refusalResponse,
  refusedResponse,
  releaseAtEnd,
  releaseWhenGone,
} from "./fetch_response.ts";
import type { HeaderField } from "../fields/header_writer.ts";
import { clientKeyOf } from "../address/client_key.ts";
import { gate, type GateVerdict } from "../gate/gate.ts";
import type { Awaitable, ClientKeyOptions, RateLimitOptions } from "../gate/rate_limit_options.ts";

/** The answer of a handler; nothing when it has upgraded the request to a websocket, on Bun. */
export type Answer = Response | undefined | void;

/**
 * A handler in the style of fetch, as Bun.serve, Deno.serve and workers call it.
 *
 * @typeParam Info The second argument that the server passes with a request.
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
 * @returns A function from the handler to the limited one. The handler is called with the request,
 * the server's second argument, and the decision.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range, or a policy cannot stand in header fields.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { limitHandler } from "tidegate/http";
 *
 * const limited = limitHandler({
 *   limiter: limiter(gcra({ limit: 100, period: "1m", burst: 100 })),
 *   trustedProxies: ["loopback"],
 * });
 * const fetch = limited((_request, _info, decision) => {
 *   return new Response(`${decision?.remaining} left`);
 * });
 * // Bun.serve({ fetch }); Deno.serve(fetch);
 * ```
 */
export function limitHandler<Info = unknown>(
  options: RateLimitOptions<Request, Info>,
): <Answers extends Answer>(handler: FetchHandler<Info, Answers>) => LimitedHandler<Info, Answers> {
  const decide = gate(options, fetchSource);
  const { onRefused } = options;

  return function limit(handler) {
    checkFunction("limit a handler", "handler", handler);

    function answer(verdict: GateVerdict, request: Request, info: Info) {
      const { refusal, headers, settle, release } = verdict;
      if (refusal !== undefined) {
        return onRefused === undefined
          ? refusalResponse(refusal, headers)
          : refusedResponse(onRefused, refusal, headers, request, info);
      }
      if (settle ?? release) return settled(verdict, handler, request, info);
      const answer = handler(request, info, verdict.decision);
      // Most answers are responses, and this is the hot path.
      if (answer instanceof Response) return finishResponse(answer, headers);
      return isPromise(answer)
        ? Promise.resolve(answer).then((answer) => finish(answer, headers))
        : finish(answer, headers);
    }

    return function limited(request, info) {
      const verdict = decide(request, info!);
      return verdict instanceof Promise
        ? verdict.then((verdict) => answer(verdict, request, info!))
        : answer(verdict, request, info!);
    };
  };
}

/**
 * Makes the default `key`, for keys that combine it with something else.
 *
 * @param options The proxies to trust about addresses, as in `rateLimit`.
 * @returns A function that returns the key of a client's address, or `undefined` if the address is
 *   unknown.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { clientKey, limitHandler } from "tidegate/http";
 *
 * const client = clientKey({ trustedProxies: ["10.0.0.0/8"] });
 * const limited = limitHandler({
 *   limiter: limiter(gcra({ limit: 5, period: "1m", burst: 5 })),
 *   key: (request, info) => `${client(request, info)} ${new URL(request.url).pathname}`,
 * });
 * ```
 */
export function clientKey<Info = unknown>(
  options: ClientKeyOptions<Request, Info> = {},
): (request: Request, info: Info) => string | undefined {
  return clientKeyOf(options, fetchSource);
}

/** Calls the handler, and reports the outcome. */
async function settled<Info, Answers extends Answer>(
  { decision, headers, settle, release }: GateVerdict,
  handler: FetchHandler<Info, Answers>,
  request: Request,
  info: Info,
): Promise<Answers | Response> {
  // Some servers never abort a signal whose first reader comes after the client has gone away.
  const { signal } = request;
  releaseWhenGone(request, release);
  try {
    const answer = await handler(request, info, decision);
    const response = isResponse(answer) ? answer : undefined;
    settle?.(fetchOutcome({ status: response?.status ?? 101, response }, signal));
    const finished = finish(answer, headers);
    if (isResponse(finished)) return releaseAtEnd(finished, request, release);
    release?.();
    return finished;
  } catch (error) {
    settle?.(fetchOutcome({ status: 500, error }, signal));
    release?.();
    throw error;
  }
}

function finish<Answers extends Answer>(
  answer: Answers,
  headers: readonly HeaderField[],
): Answers | Response {
  return isResponse(answer) ? finishResponse(answer, headers) : answer;
}
