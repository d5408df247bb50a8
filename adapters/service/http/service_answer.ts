/*
 * The answers of the service: JSON, and problems (RFC 9457) in place of it.
 */

import { PROBLEM_TYPE } from "../../http/http.ts";

/**
 * What a call is answered, as data. Servers differ in what they send it by, and on node:http a
 * `Response` that is made to be taken apart again costs as much as the rest of a call.
 */
export interface ServiceAnswer {
  readonly status: number;
  /** The header fields, by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body; empty if there is none. */
  readonly body: string | Uint8Array<ArrayBuffer>;
}

const TITLES: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  413: "Content Too Large",
  417: "Expectation Failed",
  429: "Too Many Requests",
  500: "Internal Server Error",
  503: "Service Unavailable",
};

/** The answer to a call that cannot be served: a problem. */
export function problemOf(
  status: number,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): ServiceAnswer {
  const title = TITLES[status] ?? "Error";
  return {
    status,
    headers: { "content-type": PROBLEM_TYPE, "cache-control": "no-store", ...headers },
    body: JSON.stringify({ type: "about:blank", title, status, detail }),
  };
}

/** The answer to a body of too many bytes. */
export function tooLarge(most: number): ServiceAnswer {
  return problemOf(413, `a body must be at most ${most} bytes long`);
}

const JSON_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "application/json",
  "cache-control": "no-store",
};

/** An answer in JSON. */
export function jsonResponse(body: string, status = 200): ServiceAnswer {
  return { status, headers: JSON_HEADERS, body };
}

/** Parses JSON; returns `undefined` if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
