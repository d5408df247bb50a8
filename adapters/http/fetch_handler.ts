import type { Decision } from "../../core/decision.ts";
import { applyHeaders } from "./apply_headers.ts";
import type { RequestSource } from "./client_key.ts";
import { gate, type Verdict } from "./gate.ts";
import type { Awaitable, RateLimitOptions } from "./options.ts";
import type { Refusal } from "./refusal.ts";

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

/** How the address of a client is asked of Bun's server, and found in what Deno hands over. */
interface ServerInfo {
  requestIP?(request: Request): { readonly address: string } | null;
  readonly remoteAddr?: { readonly hostname?: string };
}

/** How requests in the style of fetch are read. */
export const fetchSource: RequestSource<Request, unknown> = {
  address(request, info) {
    const server = info as ServerInfo | null | undefined;
    if (typeof server?.requestIP === "function") return server.requestIP(request)?.address;
    return server?.remoteAddr?.hostname;
  },
  header: (request, name) => request.headers.get(name),
  signal: (request) => request.signal,
};

/** Makes what puts a gate before a handler. */
export function limitHandler<Info>(
  options: RateLimitOptions<Request, Info>,
): <Answers extends Answer>(handler: FetchHandler<Info, Answers>) => LimitedHandler<Info, Answers> {
  const decide = gate(options, fetchSource);

  return function limit(handler) {
    return function limited(request, info) {
      const verdict = decide(request, info!);
      return verdict instanceof Promise
        ? verdict.then((verdict) => proceed(verdict, handler, request, info!))
        : proceed(verdict, handler, request, info!);
    };
  };
}

function proceed<Info, Answers extends Answer>(
  verdict: Verdict,
  handler: FetchHandler<Info, Answers>,
  request: Request,
  info: Info,
): Awaitable<Answers | Response> {
  if (verdict.refusal !== undefined) return refuse(verdict.refusal, verdict);
  if (verdict.settle !== undefined) return proceedAndSettle(verdict, handler, request, info);
  const answer = handler(request, info, verdict.decision);
  return answer instanceof Promise
    ? answer.then((answer) => finish(answer, verdict))
    : finish(answer, verdict);
}

/** As `proceed`, and then tells how it ended. */
async function proceedAndSettle<Info, Answers extends Answer>(
  verdict: Verdict,
  handler: FetchHandler<Info, Answers>,
  request: Request,
  info: Info,
): Promise<Answers | Response> {
  const settle = verdict.settle!;
  try {
    const answer = await handler(request, info, verdict.decision);
    settle({ status: answer instanceof Response ? answer.status : 101 });
    return finish(answer, verdict);
  } catch (error) {
    settle({ status: 500, error });
    throw error;
  }
}

function refuse({ status, contentType, body }: Refusal, { headers }: Verdict): Response {
  const response = new Response(body, { status, headers: { "Content-Type": contentType } });
  applyHeaders(response.headers, headers);
  return response;
}

/**
 * Sets the fields in place: a body that is wrapped again loses its content type on Bun. A
 * response that was fetched cannot be changed; a copy of it keeps the type that it holds. An
 * upgrade to a websocket is left alone.
 */
function finish<Answers extends Answer>(answer: Answers, { headers }: Verdict): Answers | Response {
  if (!(answer instanceof Response) || answer.status < 200 || headers.length === 0) return answer;
  try {
    applyHeaders(answer.headers, headers);
    return answer;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const copy = new Response(answer.body, answer);
    applyHeaders(copy.headers, headers);
    return copy;
  }
}
