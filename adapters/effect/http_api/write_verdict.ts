/*
 * A verdict written to a response of HttpApi: its header fields beside those of others, a refusal as
 * one of the API's problems, and how the request ended for the rule of refunds.
 */

import * as Effect from "effect/Effect";

import { HttpServerResponse } from "../needs_effect_4_1.ts";
import { applyHeaders } from "../../http/fields/apply_headers.ts";
import type { HeaderField } from "../../http/fields/header_writer.ts";
import type { Outcome } from "../../http/gate/rate_limit_options.ts";
import { GONE_STATUS } from "../../http/gate/refund_rule.ts";
import type { Refusal } from "../../http/gate/refusal.ts";
import { fetchOutcome } from "../../http/servers/fetch_response.ts";
import type { Request } from "./rate_limit_options.ts";
import { QuotaExceeded, TemporaryReducedCapacity } from "./rate_limit_problems.ts";

/** How a request ended: where the client has gone away, that is how, whatever the handler made of it. */
export function outcomeOf(
  { source }: Request,
  { status }: HttpServerResponse.HttpServerResponse,
): Outcome {
  // A request of a web handler, or of a server of Node's kind.
  const { signal, socket } = source as { signal?: AbortSignal; socket?: { destroyed?: boolean } };
  return socket?.destroyed === true ? { status: GONE_STATUS } : fetchOutcome({ status }, signal);
}

/** The response with the verdict's fields, beside those of others. */
export function withFields(
  response: HttpServerResponse.HttpServerResponse,
  fields: readonly HeaderField[],
): HttpServerResponse.HttpServerResponse {
  const own = new Map<string, string>();
  applyHeaders({
    get: (name) => own.get(name) ?? response.headers[name.toLowerCase()],
    set: (name, value) => own.set(name, value),
  }, fields);
  return HttpServerResponse.setHeaders(response, own);
}

/** The problem that a refusal is; or its response, where it is none of the API. */
export function refused({ status, body }: Refusal): Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  QuotaExceeded | TemporaryReducedCapacity
> {
  if (status === 429) return Effect.fail(new QuotaExceeded(violatedBy(body)));
  if (status === 503) return Effect.fail(new TemporaryReducedCapacity(violatedBy(body)));
  // An unknown address, or a bad key: no problem of the API, and not one to be declared by it.
  return Effect.succeed(
    HttpServerResponse.text(body, { status, contentType: "application/problem+json" }),
  );
}

function violatedBy(body: string): { readonly "violated-policies": readonly string[] } {
  return { "violated-policies": JSON.parse(body)["violated-policies"] ?? [] };
}
