import { applyHeaders } from "../fields/apply_headers.ts";
import type { HeaderField } from "../fields/header_writer.ts";
import type { Refusal } from "../gate/refusal.ts";

/** The response to a refused client. */
export function refusalResponse(
  { status, contentType, body }: Refusal,
  headers: readonly HeaderField[],
): Response {
  // Some statuses are of responses without a body, and an empty one is one.
  const response = new Response(body === "" ? null : body, {
    status,
    headers: { "Content-Type": contentType },
  });
  applyHeaders(response.headers, headers);
  return response;
}

/**
 * Sets the fields in place: a body that is wrapped again loses its content type on Bun. A
 * response that was fetched cannot be changed; a copy of it keeps the type that it holds. An
 * upgrade to a websocket is left alone.
 */
export function finishResponse(response: Response, headers: readonly HeaderField[]): Response {
  if (response.status < 200 || headers.length === 0) return response;
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

/** What runtimes decode as they fetch. They leave the fields as they came. */
const DECODED_REGEXP = /^(?:gzip|br)$/i;

/**
 * A copy whose fields can be set. Of a response that was fetched and decoded the runtime knows that
 * it is no longer encoded; of the copy it does not, so there the fields must say so.
 */
function copyOf(response: Response): Response {
  const copy = new Response(response.body, response);
  const isFetched = response.url !== "" && response.body !== null;
  if (isFetched && DECODED_REGEXP.test(copy.headers.get("content-encoding") ?? "")) {
    copy.headers.delete("content-encoding");
    copy.headers.delete("content-length");
  }
  return copy;
}

/** Whether a value is a response, be it of another making than the global one. */
export function isResponse(value: unknown): value is Response {
  return value instanceof Response ||
    Object.prototype.toString.call(value) === "[object Response]";
}
