/*
 * The answers of the service: JSON, or a problem (RFC 9457). Code at any depth refuses a request by
 * throwing a refusal. One place turns refusals into answers, or into errors of gRPC.
 */

import { STATUS_CODES } from "node:http";

import { isMalformedRequest, isPermitsNeeded, isTooManyLimits } from "../../rules/rules.ts";
import { PROBLEM_TYPE } from "../../http/http.ts";

/**
 * The answer to a call, as data. It is not a `Response`, because servers send it in different ways,
 * and on node:http building a `Response` and taking it apart again costs as much as the rest of a
 * call.
 */
export interface ServiceAnswer {
  readonly status: number;
  /** The header fields, by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body; may be empty. */
  readonly body: string | Uint8Array<ArrayBuffer>;
}

/** Node still has the older name of 413, which RFC 9110 changed. */
const TITLES: typeof STATUS_CODES = { ...STATUS_CODES, 413: "Content Too Large" };

/** The refusal of a call that is not served. */
export interface CallRefusal {
  readonly status: number;
  readonly detail: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The refusals that were made here, because an error from elsewhere may look like a refusal. */
const refusals = new WeakSet<object>();

/** Makes a refusal. */
export function refusalOf(
  status: number,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): CallRefusal {
  const refusal = { status, detail, headers };
  refusals.add(refusal);
  return refusal;
}

/** Refuses a call. */
export function refuse(...refusal: Parameters<typeof refusalOf>): never {
  throw refusalOf(...refusal);
}

/** The error as a refusal; `undefined` if it is an error that no client caused. */
export function asRefusal(error: unknown): CallRefusal | undefined {
  if (isMalformedRequest(error) || isTooManyLimits(error)) return refusalOf(400, error.message);
  if (isPermitsNeeded(error)) return refusalOf(409, error.message);
  return refusals.has(error as object) ? error as CallRefusal : undefined;
}

/** The answer to a call that cannot be served: a problem. */
export function problemAnswer({ status, detail, headers }: CallRefusal): ServiceAnswer {
  const title = TITLES[status] ?? "Error";
  return {
    status,
    headers: { "content-type": PROBLEM_TYPE, "cache-control": "no-store", ...headers },
    body: JSON.stringify({ type: "about:blank", title, status, detail }),
  };
}

/** Refuses a body of too many bytes. */
export function tooLarge(most: number): CallRefusal {
  return refusalOf(413, `a body must be at most ${most} bytes long`);
}

const JSON_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "application/json",
  "cache-control": "no-store",
};

/** An answer in JSON. */
export function jsonResponse(body: string, status = 200): ServiceAnswer {
  return { status, headers: JSON_HEADERS, body };
}

/** The items of a body: one, or a list of them. */
export interface Body<Item> {
  readonly many: boolean;
  readonly items: readonly Item[];
}

/** Answers each item of a body, in JSON. A fault of one item is a fault of the body. */
export async function answerEach<Item>(
  { many, items }: Body<Item>,
  answer: (item: Item) => Promise<string>,
): Promise<ServiceAnswer> {
  if (!many) return jsonResponse(await answer(items[0]!));
  return jsonResponse(`[${(await Promise.all(items.map((item) => answer(item)))).join(",")}]`);
}

/** Parses the body of a call, and refuses it unless it is JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    refuse(400, "the body must be JSON");
  }
}
