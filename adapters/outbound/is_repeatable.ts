/**
 * Whether a request can be sent once more, after it has been sent: whether its body is a value and
 * not a stream, an iterator or whatever else is used up. The body of a `Request` always is used up,
 * and a copy made beforehand would keep all of an upload in memory.
 */
export function isRepeatable(
  input: string | URL | Request,
  init: RequestInit | undefined,
): boolean {
  return isValue(init?.body) && !(input instanceof Request && input.bodyUsed);
}

function isValue(body: unknown): boolean {
  return body === undefined || body === null || typeof body === "string" ||
    body instanceof ArrayBuffer || ArrayBuffer.isView(body) || body instanceof Blob ||
    body instanceof URLSearchParams || body instanceof FormData;
}
