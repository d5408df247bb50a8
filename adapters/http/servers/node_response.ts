/*
 * How the adapters for servers on node:http read requests and answer them.
 */
import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";

import type { Decision } from "../../../core/decision.ts";
import { andThen, orElse } from "../../../core/maybe_promise.ts";
import { applyHeaders, type HeaderHolder } from "../fields/apply_headers.ts";
import type { RequestSource } from "../address/client_key.ts";
import { gate, type GateVerdict } from "../gate/gate.ts";
import type { Awaitable, RateLimitOptions } from "../gate/rate_limit_options.ts";
import { GONE_STATUS } from "../gate/refunds.ts";
import type { Refusal } from "../gate/refusal.ts";

/** How requests of node:http are read. */
export const nodeSource: RequestSource<IncomingMessage, ServerResponse> = {
  address: (request) => request.socket.remoteAddress,
  header: (request, name) => nodeHeader(request, name),
  signal: (_request, response) => closingOf(response),
  method: ({ method = "GET" }) => method,
  target: (request) => nodeTarget(request),
};

/** A request whose target a framework has changed. */
interface RoutedRequest {
  readonly url?: string | undefined;
  /** The whole target as it came. */
  readonly originalUrl?: string;
  /** The part of it that routers have removed. */
  readonly baseUrl?: string;
}

/** The target of a request as it came, and as it stands now if something has rewritten it. */
export function nodeTarget(request: RoutedRequest): string | readonly string[] {
  const { url = "/", originalUrl = url, baseUrl = "" } = request;
  const current = `${baseUrl}${url}`;
  return current === originalUrl ? originalUrl : [originalUrl, current];
}

/** Whether a server of Fastify routes in any case, by its option; NestJS may stand on Fastify too. */
export function ignoresCaseInFastify(request: object): boolean {
  const { server } = request as {
    readonly server?: {
      readonly initialConfig?: {
        readonly caseSensitive?: boolean;
        readonly routerOptions?: { readonly caseSensitive?: boolean };
      };
    };
  };
  const { caseSensitive, routerOptions } = server?.initialConfig ?? {};
  return (routerOptions?.caseSensitive ?? caseSensitive) === false;
}

/** A header field of a request of node:http; several lines of one name are joined. */
export function nodeHeader(
  request: Pick<IncomingMessage, "headers">,
  name: string,
): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

/**
 * A signal that is aborted when the response is closed. If it is closed before its end, the client
 * has gone.
 */
export function closingOf(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (isClosed(response)) controller.abort();
  else response.once("close", () => controller.abort());
  return controller.signal;
}

/** Whether the response is closed. Responses of node:http2 do not say so themselves. */
function isClosed(response: ServerResponse): boolean {
  const { stream } = response as { readonly stream?: { readonly destroyed: boolean } };
  return response.destroyed || stream?.destroyed === true;
}

/** How the adapter of a framework on node:http handles its replies. */
export interface NodeReplies<Request, Reply> {
  /** Puts the decision where handlers find it. */
  keep(decision: Decision, request: Request, reply: Reply): void;
  /** Whether the request was answered already. */
  isAnswered(reply: Reply): boolean;
  fields(reply: Reply): HeaderHolder;
  /** Answers a refused client, unless it was answered already. */
  refuse(reply: Reply, refusal: Refusal): void;
  /** The response of node:http. */
  raw(reply: Reply): ServerResponse;
}

/** Replies that are responses of node:http. */
export const nodeReplies: NodeReplies<unknown, ServerResponse> = {
  keep() {},
  isAnswered: (response) => response.writableEnded,
  fields: (response) => ({
    get: (name) => response.getHeader(name)?.toString(),
    set: (name, value) => void (response.headersSent || response.setHeader(name, value)),
  }),
  refuse(response, { status, contentType, body }) {
    if (response.headersSent) return;
    response.statusCode = status;
    response.setHeader("Content-Type", contentType);
    response.setHeader("Content-Length", Buffer.byteLength(body));
    response.end(body);
  },
  raw: (response) => response,
};

/** Limits a request: calls `proceed`, refuses, or calls `fail` with the error of an option. */
export type LimitOnNode<Request, Reply> = (
  request: Request,
  reply: Reply,
  proceed: (decision: Decision | undefined) => unknown,
  fail: (error: unknown) => void,
) => void;

/** Makes the limit of an adapter; its gate reads requests by the source. */
export function limitOnNode<Request, Reply>(
  options: RateLimitOptions<Request, Reply>,
  source: RequestSource<Request, Reply>,
  { keep, isAnswered, fields, refuse, raw }: NodeReplies<Request, Reply>,
): LimitOnNode<Request, Reply> {
  const decide = gate(options, source);
  const { onRefused } = options;

  function answer(
    { decision, headers, refusal, settle, release }: GateVerdict,
    request: Request,
    reply: Reply,
    proceed: (decision: Decision | undefined) => unknown,
    fail: (error: unknown) => void,
  ): unknown {
    if (release !== undefined) whenClosed(raw(reply), release);
    if (settle !== undefined) whenEnded(raw(reply), (status) => settle({ status }));
    if (decision !== undefined) keep(decision, request, reply);
    // Another handler answered while the request waited for its verdict.
    if (isAnswered(reply)) return;
    applyHeaders(fields(reply), headers);
    if (refusal === undefined) return proceed(decision);
    if (onRefused === undefined) return refuse(reply, refusal);
    return orElse(
      () => andThen(onRefused(refusal, request, reply), () => refuse(reply, refusal)),
      fail,
    );
  }

  // An error of a handler is the handler's own, but an earlier error must not end the server.
  return function limitRate(request, reply, proceed, fail) {
    let verdict: Awaitable<GateVerdict>;
    try {
      verdict = decide(request, reply);
    } catch (error) {
      return fail(error);
    }
    if (verdict instanceof Promise) {
      verdict.then((verdict) => answer(verdict, request, reply, proceed, fail), fail);
    } else {
      answer(verdict, request, reply, proceed, fail);
    }
  };
}

/**
 * Calls `ended` when a response is closed, because it is complete or its client has gone; perhaps twice,
 * if the client has gone.
 */
export function whenClosed(response: ServerResponse, ended: () => void): void {
  if (isClosed(response)) return ended();
  response.once("close", ended);
  // Over HTTP/2 there is no end after a listener of "aborted" has thrown. This one comes before it.
  response.req?.once("aborted", ended);
}

/**
 * Reports the status with which a response has ended. If the client went away first, any later
 * answer was never read, even the handler's own answer to that.
 */
export function whenEnded(response: ServerResponse, report: (status: number) => void): void {
  let gone = false;
  // The handler's listener is added later, so the handler has not answered yet at this point.
  response.req.once("aborted", () => gone = !response.headersSent);
  whenClosed(response, () => {
    report(response.headersSent && !gone ? response.statusCode : GONE_STATUS);
  });
}
