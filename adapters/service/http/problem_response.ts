/*
 * The responses of the service in JSON: answers, and problems (RFC 9457) in place of them.
 */

import { PROBLEM_TYPE } from "../../http/http.ts";
import type { ServiceAnswer } from "./service_answer.ts";

/** A request that cannot be served: what the client is answered, and with which status. */
export interface HttpFault {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
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

/** A fault by its status. */
export function httpFault(status: number, detail: string): HttpFault {
  return { status, title: TITLES[status] ?? "Error", detail };
}

/** The fault of a body of too many bytes. */
export function tooLarge(most: number): HttpFault {
  return httpFault(413, `a body must be at most ${most} bytes long`);
}

/** The value of a JSON text; `undefined` if it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The response to a fault: a problem. */
export function problemResponse(
  { status, title, detail }: HttpFault,
  headers: Readonly<Record<string, string>> = {},
): ServiceAnswer {
  return {
    status,
    headers: { "content-type": PROBLEM_TYPE, "cache-control": "no-store", ...headers },
    body: JSON.stringify({ type: "about:blank", title, status, detail }),
  };
}

/** The response to a fault of this status. */
export function problemOf(
  status: number,
  detail: string,
  headers?: Readonly<Record<string, string>>,
): ServiceAnswer {
  return problemResponse(httpFault(status, detail), headers);
}

const JSON_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "application/json",
  "cache-control": "no-store",
};

/** An answer in JSON. */
export function jsonResponse(body: string, status = 200): ServiceAnswer {
  return { status, headers: JSON_HEADERS, body };
}
