import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";

import { applyHeaders, type HeaderHolder } from "./apply_headers.ts";
import type { RequestSource } from "./client_key.ts";
import type { Verdict } from "./gate.ts";
import type { HeaderField } from "./header_writer.ts";
import { GONE_STATUS } from "./refund.ts";
import type { Refusal } from "./refusal.ts";

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
  if (response.destroyed) controller.abort();
  else response.once("close", () => controller.abort());
  return controller.signal;
}

/** Sets the fields of a verdict, and tells its rule of refunds when the response has ended. */
export function admitOnNode(response: ServerResponse, { headers, settle }: Verdict): void {
  setOnNode(response, headers);
  if (settle !== undefined) {
    response.once("close", () => settle({ status: statusOf(response) }));
  }
}

/** How a response ended that is closed: a status that was never sent is nobody's. */
export function statusOf(response: ServerResponse): number {
  return response.headersSent ? response.statusCode : GONE_STATUS;
}

/** Answers a refused client. */
export function refuseOnNode(
  response: ServerResponse,
  { status, contentType, body }: Refusal,
  headers: readonly HeaderField[],
): void {
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
