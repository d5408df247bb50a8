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
} from "./fetch_response.ts";
import { gate, type Verdict } from "../gate/gate.ts";
import type { Awaitable, RateLimitOptions } from "../gate/rate_limit_options.ts";

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

/** Makes what puts a gate before a handler. */
export function limitHandler<Info>(
  options: RateLimitOptions<Request, Info>,
): <Answers extends Answer>(handler: FetchHandler<Info, Answers>) => LimitedHandler<Info, Answers> {
  const decide = gate(options, fetchSource);

  const { onRefused } = options;

  function answer<Answers extends Answer>(
    verdict: Verdict,
    handler: FetchHandler<Info, Answers>,
    request: Request,
    info: Info,
  ): Awaitable<Answers | Response> {
    const { refusal, headers } = verdict;
    if (refusal === undefined) return proceed(verdict, handler, request, info);
    if (onRefused === undefined) return refusalResponse(refusal, headers);
    return refusedResponse(() => onRefused(refusal, request, info), refusal, headers);
  }

  return function limit(handler) {
    checkFunction("limit a handler", "handler", handler);
    return function limited(request, info) {
      const verdict = decide(request, info!);
      return isPromise(verdict)
        ? verdict.then((verdict) => answer(verdict, handler, request, info!))
        : answer(verdict, handler, request, info!);
    };
  };
}

function proceed<Info, Answers extends Answer>(
  verdict: Verdict,
  handler: FetchHandler<Info, Answers>,
  request: Request,
  info: Info,
): Awaitable<Answers | Response> {
  if (verdict.settle !== undefined) return proceedAndSettle(verdict, handler, request, info);
  const answer = handler(request, info, verdict.decision);
  return isPromise(answer)
    ? Promise.resolve(answer).then((answer) => finish(answer, verdict))
    : finish(answer, verdict);
}

/** As `proceed`, and then reports how it ended. */
async function proceedAndSettle<Info, Answers extends Answer>(
  verdict: Verdict,
  handler: FetchHandler<Info, Answers>,
  request: Request,
  info: Info,
): Promise<Answers | Response> {
  const settle = verdict.settle!;
  // Some servers never abort a signal that is first read when the client has gone.
  const { signal } = request;
  let answer: Answers;
  try {
    answer = await handler(request, info, verdict.decision);
  } catch (error) {
    settle(fetchOutcome({ status: 500, error }, signal));
    throw error;
  }
  settle(fetchOutcome({ status: isResponse(answer) ? answer.status : 101 }, signal));
  return finish(answer, verdict);
}

function finish<Answers extends Answer>(answer: Answers, { headers }: Verdict): Answers | Response {
  return isResponse(answer) ? finishResponse(answer, headers) : answer;
}
