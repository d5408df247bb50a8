/*
 * The bodies of requests, as text and as JSON. Nobody knows how long one is that comes in chunks, so
 * it is counted as it is read.
 */

import { type HttpFault, httpFault } from "./problem_response.ts";

/**
 * Reads a request's body as text, no more of it than allowed.
 *
 * @param most The most bytes.
 * @returns The text, or the fault; rejects if the client breaks off.
 */
export function readBody(request: Request, most: number): Promise<string | HttpFault> {
  const length = request.headers.get("content-length");
  if (length === null) return readStream(request, most);
  // The server reads no more bytes than the field names.
  return Number(length) <= most ? request.text() : Promise.resolve(tooLarge(most));
}

async function readStream(request: Request, most: number): Promise<string | HttpFault> {
  if (request.body === null) return "";
  const reader = request.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  while (true) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.length;
    if (size > most) {
      await reader.cancel();
      return tooLarge(most);
    }
    text += decoder.decode(value, { stream: true });
  }
}

function tooLarge(most: number): HttpFault {
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
