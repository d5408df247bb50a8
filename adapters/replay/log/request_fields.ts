/*
 * The names of the parts of an HTTP request in logs, and the kind of a request: whether it writes,
 * whether it logs in, and, roughly, its path.
 */

/** A part of a request. */
export type RequestPart = "method" | "path" | "status";

/** The usual names of the parts of a request, the likeliest first. */
export const REQUEST_NAMES: Readonly<Record<RequestPart, readonly string[]>> = {
  method: [
    ...["method", "request.method", "req.method", "RequestMethod", "request_method", "cs-method"],
    "ClientRequestMethod",
  ],
  path: [
    ...["url", "path", "uri", "request.uri", "req.url", "RequestPath", "request_uri"],
    ...["cs-uri-stem", "ClientRequestURI"],
  ],
  status: [
    ...["status", "status_code", "response", "res.statusCode", "DownstreamStatus", "sc-status"],
    ...["response_code", "EdgeResponseStatus"],
  ],
};

/** Bits of a mark. The other six are a hash of the path; 0 where there is no path. */
export const LOGS_IN = 1;
export const WRITES = 2;

const READS = /^(?:GET|HEAD|OPTIONS|TRACE|-|)$/i;
const LOGIN_WORDS = new RegExp(
  "(?:^|[^a-z])(?:log-?_?[io]n|sign-?_?(?:in|up)|register|auth(?:enticate|orize)?|oauth2?|" +
    "token|session|passw(?:or)?d|otp|xmlrpc)s?(?:[^a-z]|$)",
  "i",
);

/** The path of a URL: without scheme, host and query. */
export function pathOf(url: string): string {
  const query = url.search(/[?#]/);
  const whole = query === -1 ? url : url.slice(0, query);
  return whole.startsWith("/") ? whole : whole.replace(/^\w+:\/\/[^/]+/, "");
}

/** The mark of a request: a byte. */
export function markOf(method: string, path: string): number {
  const writes = !READS.test(method);
  const isLogin = writes && isLoginPath(path);
  return (isLogin ? LOGS_IN : 0) | (writes ? WRITES : 0) | pathHash(path) << 2;
}

/** Whether a path is one at which secrets are guessed. */
export function isLoginPath(path: string): boolean {
  return LOGIN_WORDS.test(path.length > 200 ? path.slice(0, 200) : path);
}

/** 1 to 63; 0 if there is no path. */
function pathHash(path: string): number {
  if (path === "") return 0;
  let hash = 0x811c9dc5;
  for (let at = 0; at < path.length; at++) hash = Math.imul(hash ^ path.charCodeAt(at), 0x01000193);
  return 1 + (hash >>> 8) % 63;
}
