/*
 * How requests of node:http are read and answered: by node.ts and express.ts, and in part by
 * fastify.ts.
 */
import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";

import { isPromise } from "../../../core/maybe_promise.ts";
import { applyHeaders, type HeaderHolder } from "../fields/apply_headers.ts";
import type { RequestSource } from "../address/client_key.ts";
import type { Verdict } from "../gate/gate.ts";
import type { HeaderField } from "../fields/header_writer.ts";
import { GONE_STATUS } from "../gate/refund_rule.ts";
import type { Refusal } from "../gate/refusal.ts";

/** How requests of node:http are read. */
export const nodeSource: RequestSource<IncomingMessage, ServerResponse> = {
  address: (request) => request.socket.remoteAddress,
  header: (request, name) => nodeHeader(request, name),
  signal: (_request, response) => closingOf(response),
};

/** A header field of a request of node:http; several lines of one name are joined. */
export function nodeHeader(
  request: Pick<IncomingMessage, "headers">,
  name: string,
): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

/** Aborted when the response is closed: the client has gone, if that is before its end. */
export function closingOf(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (isClosed(response)) controller.abort();
  else response.once("close", () => controller.abort());
  return controller.signal;
}

/** Whether the response is closed. Those of node:http2 do not say so themselves. */
function isClosed(response: ServerResponse): boolean {
  const { stream } = response as { readonly stream?: { readonly destroyed: boolean } };
  return response.destroyed || stream?.destroyed === true;
}

/** What follows from a verdict. */
export interface NodeAnswers {
  /** The option `onRefused`, if it is given. */
  readonly refused: ((refusal: Refusal) => unknown) | undefined;
  proceed(): unknown;
  fail(error: unknown): void;
}

/**
 * Answers by a verdict: refuses, or sets the fields, goes on, and settles when the response has
 * ended.
 */
export function answerOnNode(
  response: ServerResponse,
  { headers, refusal, settle }: Verdict,
  { refused, proceed, fail }: NodeAnswers,
): unknown {
  if (refusal !== undefined) {
    if (refused === undefined) return refuseOnNode(response, refusal, headers);
    setOnNode(response, headers);
    return refuseOr(() => refused(refusal), () => refuseOnNode(response, refusal, []), fail);
  }
  // Somebody else has answered while the request waited for its verdict.
  if (response.writableEnded) return;
  setOnNode(response, headers);
  if (settle !== undefined) whenEnded(response, (status) => settle({ status }));
  return proceed();
}

/** Calls `onRefused`, and refuses as usual unless that fails. */
export function refuseOr(
  refused: () => unknown,
  refuse: () => void,
  fail: (error: unknown) => void,
): void {
  try {
    const answer = refused();
    if (!isPromise(answer)) return refuse();
    Promise.resolve(answer).then(refuse).catch(fail);
  } catch (error) {
    fail(error);
  }
}

/**
 * Reports the status with which a response has ended. Where the client went away first, nobody has
 * read what has been answered since, be it the handler's own answer to that.
 */
export function whenEnded(response: ServerResponse, report: (status: number) => void): void {
  let gone = false;
  // The handler listens later, so that it has not answered yet.
  response.req.once("aborted", () => gone = !response.headersSent);
  response.once("close", () => {
    report(response.headersSent && !gone ? response.statusCode : GONE_STATUS);
  });
}

/** Answers a refused client, unless somebody else has answered while it waited for the verdict. */
export function refuseOnNode(
  response: ServerResponse,
  { status, contentType, body }: Refusal,
  headers: readonly HeaderField[],
): void {
  if (response.headersSent) return;
  setOnNode(response, headers);
  response.statusCode = status;
  response.setHeader("Content-Type", contentType);
  response.setHeader("Content-Length", Buffer.byteLength(body));
  response.end(body);
}

function setOnNode(response: ServerResponse, headers: readonly HeaderField[]): void {
  if (response.headersSent) return;
  const holder: HeaderHolder = {
    get: (name) => response.getHeader(name)?.toString(),
    set: (name, value) => response.setHeader(name, value),
  };
  applyHeaders(holder, headers);
}
