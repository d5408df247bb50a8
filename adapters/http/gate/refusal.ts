/*
 * The answers to refused requests, as data that every adapter can send: problems (RFC 9457), so
 * that a program can tell an exceeded quota from an outage.
 */

import { typeError } from "../../../core/options/checks.ts";
import { type Problem, problem, PROBLEM_TYPE } from "./problem.ts";

/** The answer to a refused client. */
export interface Refusal {
  /**
   * 429; 503 if the store cannot decide, or its failure policy refused; 403 for an unknown address,
   * 400 for a key that is missing or not text, 431 for a key that is too long.
   */
  readonly status: number;
  /** The content type of the body: `application/problem+json`. */
  readonly contentType: string;
  /** The body: a problem (RFC 9457) as JSON. */
  readonly body: string;
}

const ACTION = "answer a refused client with respond";

/** The answer to a client whose address is not known, if the options refuse such clients. */
export const UNKNOWN_ADDRESS: Refusal = plainRefusal(403, "Forbidden");

/** The answer to a client whose key is longer than a store should keep. */
export const KEY_TOO_LONG: Refusal = plainRefusal(431, "Request Header Fields Too Large");

/** The answer to a client without a key, or with a key that is not text. */
export const BAD_KEY: Refusal = plainRefusal(400, "Bad Request");

/** The answer if the store cannot decide, or its failure policy refuses: not the client's fault. */
export const UNAVAILABLE: Refusal = refusalWith(problem("temporary-reduced-capacity", []));

/**
 * The answer to a client that has gone away, which is never read. The status is the same as in
 * nginx.
 */
export const GONE: Refusal = { status: 499, contentType: "text/plain", body: "" };

/** The answer to a client that has used up the quotas of these policies. */
export function quotaExceeded(violated: readonly string[]): Refusal {
  return refusalWith(problem("quota-exceeded", violated));
}

const CONTENT_TYPE_REGEXP = /^[\x20-\x7e]+$/;
/** The statuses of responses without a body. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * A refusal as `respond` changed it. Fields that are `undefined` stay unchanged.
 *
 * @throws {TypeError} If a server could not send it.
 */
export function changedRefusal(usual: Refusal, change: Partial<Refusal> | undefined): Refusal {
  if (!change) return usual;
  const { status = usual.status, contentType = usual.contentType, body = usual.body } = change;
  if (!(Number.isInteger(status) && status >= 200 && status <= 599)) {
    throw typeError(ACTION, "status must be an integer from 200 to 599", status);
  }
  if (typeof contentType !== "string" || !CONTENT_TYPE_REGEXP.test(contentType)) {
    const rule = "contentType must be of printable ASCII characters";
    throw typeError(ACTION, rule, contentType);
  }
  if (typeof body !== "string" || (body !== "" && BODILESS.has(status))) {
    const rule = "body must be a string, and empty with the status 204, 205 or 304";
    throw typeError(ACTION, rule, body);
  }
  return { status, contentType, body };
}

function refusalWith(body: Pick<Problem, "type" | "title" | "status">): Refusal {
  return { status: body.status, contentType: PROBLEM_TYPE, body: JSON.stringify(body) };
}

function plainRefusal(status: number, title: string): Refusal {
  return refusalWith({ type: "about:blank", title, status });
}
