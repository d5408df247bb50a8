/*
 * How the adapters for fetch-style servers read requests and answer them.
 */
import type { RequestSource } from "../address/client_key.ts";
import { applyHeaders } from "../fields/apply_headers.ts";
import type { HeaderField } from "../fields/header_writer.ts";
import type { Outcome, RateLimitOptions } from "../gate/rate_limit_options.ts";
import { GONE_STATUS } from "../gate/refunds.ts";
import type { Refusal } from "../gate/refusal.ts";

/**
 * The source of a client's address: a method of Bun's server, or a property of Deno's information.
 */
interface ServerInfo {
  requestIP?(request: Request): { readonly address: string } | null;
  readonly remoteAddr?: { readonly hostname?: string };
}

/** Matches the part of a URL before its path. */
const ORIGIN_REGEXP = /^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i;

/** How requests in the style of fetch are read. */
export const fetchSource: RequestSource<Request, unknown> = {
  address(request, info) {
    const server = info as ServerInfo | null | undefined;
    if (typeof server?.requestIP === "function") return server.requestIP(request)?.address;
    return server?.remoteAddr?.hostname;
  },
  header: (request, name) => request.headers.get(name),
  signal: (request) => request.signal,
  method: ({ method }) => method,
  target: ({ url }) => url.replace(ORIGIN_REGEXP, ""),
};

/**
 * How a request in the style of fetch ended, reported before its response is handed to the server.
 * If the client has gone away, the outcome is 499, and not the error that this caused in the
 * handler.
 */
export function fetchOutcome(outcome: Outcome, signal: AbortSignal | undefined): Outcome {
  return signal?.aborted ? { ...outcome, status: GONE_STATUS } : outcome;
}

/** The response to a refused client. */
export function refusalResponse(
  { status, contentType, body }: Refusal,
  headers: readonly HeaderField[],
): Response {
  // Responses with some statuses must not have a body, and an empty body counts as a body.
  const response = new Response(body === "" ? null : body, {
    status,
    headers: { "Content-Type": contentType },
  });
  applyHeaders(response.headers, headers);
  return response;
}

/** The response of `onRefused`, with the fields; the usual one if there is none. */
export async function refusedResponse<Request, Info>(
  onRefused: RateLimitOptions<Request, Info>["onRefused"],
  refusal: Refusal,
  headers: readonly HeaderField[],
  request: Request,
  info: Info,
): Promise<Response> {
  const own = await onRefused?.(refusal, request, info);
  return isResponse(own) ? finishResponse(own, headers) : refusalResponse(refusal, headers);
}

/**
 * Sets the fields in place, because a body that is wrapped again loses its content type on Bun. A
 * response that was fetched cannot be changed, so it is copied; the copy keeps the type in its
 * fields. An upgrade to a websocket is left alone.
 */
export function finishResponse(response: Response, headers: readonly HeaderField[]): Response {
  if (headers.length === 0 || response.status < 200) return response;
  try {
    applyHeaders(response.headers, headers);
    return response;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const copy = copyOf(response);
    applyHeaders(copy.headers, headers);
    return copy;
  }
}

/** Calls `release` when the client of a request goes away. */
export function releaseWhenGone({ signal }: Request, release: (() => void) | undefined): void {
  if (release === undefined) return;
  if (signal.aborted) release();
  else signal.addEventListener("abort", release, { once: true });
}

/**
 * A response that calls `release` at the end of its body: read, cancelled or failed, or collected
 * because it is never read. `release` is called at once for a body that somebody reads
 * already, because the response was sent before this one was ready; and on Bun for a body without a
 * Content-Type field, which has a type that a copy would lose.
 */
export function releaseAtEnd(
  response: Response,
  { method }: Request,
  release: (() => void) | undefined,
): Response {
  if (release === undefined) return response;
  const isTyped = response.headers.has("content-type") || !("Bun" in globalThis);
  const mayFlow = isTyped && response.status >= 200 && method !== "HEAD" && !response.bodyUsed;
  // On Bun, a look at the body alone would lose its type.
  const body = mayFlow ? response.body : null;
  if (body !== null && !body.locked) {
    const stream = endedBy(body, release);
    UNREAD.register(stream, release);
    return copyOf(response, stream);
  }
  release();
  return response;
}

/** Releases the permits of bodies that nobody can read any more, because they were thrown away. */
const UNREAD: FinalizationRegistry<() => void> = /* @__PURE__ */ new FinalizationRegistry(
  (release) => release(),
);

/** Calls `release` if nobody reads the body of a response that another one has replaced. */
export function releaseUnread(response: Response, release: () => void): void {
  if (response.body?.locked !== true && !response.bodyUsed) release();
}

/** The same stream, which reports its end. */
function endedBy(
  body: NonNullable<Response["body"]>,
  ended: () => void,
): NonNullable<Response["body"]> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        ended();
        controller.close();
      } catch (error) {
        ended();
        controller.error(error);
      }
    },
    cancel(reason) {
      ended();
      return reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
}

/** The encodings that runtimes decode as they fetch. They do not change the fields. */
const DECODED_REGEXP = /^(?:gzip|br)$/i;

/**
 * A copy whose fields can be set. The runtime knows that a fetched and decoded response is no
 * longer encoded, but it does not know that of the copy, so the copy's fields must say so.
 */
function copyOf(response: Response, body = response.body): Response {
  const copy = new Response(body, response);
  const isFetched = response.url !== "" && response.body !== null;
  if (isFetched && DECODED_REGEXP.test(copy.headers.get("content-encoding") ?? "")) {
    copy.headers.delete("content-encoding");
    copy.headers.delete("content-length");
  }
  return copy;
}

/** Whether a value is a response, even if it was not made by the global `Response`. */
export function isResponse(value: unknown): value is Response {
  return value instanceof Response ||
    Object.prototype.toString.call(value) === "[object Response]";
}
