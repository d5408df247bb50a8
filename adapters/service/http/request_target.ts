/*
 * Finds the path in the target of a request. The service finds its routes by this path, exactly as
 * it was sent.
 */

import { refuse } from "./service_answer.ts";

/** The target of a request. */
export interface RequestTarget {
  /** The path as a URL has it, with dot segments resolved. */
  readonly path: string;
  /** The query, without its question mark. */
  readonly query: string;
}

const ORIGIN_REGEXP = /^https?:\/\/[^/?#]+/i;
/**
 * A path that parsing as a URL leaves unchanged. Other paths are parsed, because Bun's server
 * parses them too.
 */
const PLAIN_PATH_REGEXP = /^(?:\/[\w-]+)+$/;
const HOST_REGEXP = /^(?:\[[\da-f:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})+)(?::(\d{0,5}))?$/i;

/**
 * The target of a request; refused if it has no path, or the field Host is invalid.
 *
 * Servers make the URL of a request from Host and the target. Bun leaves it relative if Host is
 * missing or not a host. Deno concatenates the two unchanged, so a Host of `a/healthz?` would
 * choose the path. So Host is checked first (RFC 9112, 3.2); HTTP/1.0 needs no Host.
 */
export function requestTarget(target: string, host: string | null): RequestTarget {
  const found = isHost(host) ? targetOf(target) : undefined;
  return found ??
    refuse(400, "the Host field must be a host, with or without a port, and the target a path");
}

/**
 * The path and the query of a target, `/path?query` or a whole URL; `undefined` for any other
 * target.
 */
function targetOf(text: string): RequestTarget | undefined {
  const start = text.startsWith("/") ? 0 : ORIGIN_REGEXP.exec(text)?.[0].length;
  if (start === undefined) return undefined;
  const mark = text.indexOf("?", start);
  const path = mark === -1 ? text.slice(start) : text.slice(start, mark);
  return {
    path: PLAIN_PATH_REGEXP.test(path) ? path : new URL(`http://a${path}`).pathname,
    query: mark === -1 ? "" : text.slice(mark + 1),
  };
}

/** Whether the field Host is missing, empty, or a host with at most a port. */
function isHost(field: string | null): boolean {
  if (field === null || field === "") return true;
  const match = HOST_REGEXP.exec(field);
  return match !== null && Number(match[1] ?? 0) <= 65_535;
}
