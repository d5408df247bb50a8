/*
 * A call as it comes in, whichever server it came through: what is known of it before its body is
 * read.
 */

import { type ServiceAnswer, tooLarge } from "./service_answer.ts";

/** A call of the service. */
export interface IncomingCall {
  readonly method: string;
  /** The target of the request line, or the URL that the server has made of it. */
  readonly target: string;
  /** A header field; `null` if there is none. Its name is in lower case. */
  header(name: string): string | null;
  /** The address of the socket's other end. */
  peer(): string | undefined;
  /** Reads the body as text, of at most so many bytes; rejects if the client breaks off. */
  body(most: number): Promise<string | ServiceAnswer>;
}

/** The call that a request in the style of fetch is. */
export function fetchCall(request: Request, peer: () => string | undefined): IncomingCall {
  const { method, url, headers } = request;
  return {
    method,
    target: url,
    header: (name) => headers.get(name),
    peer,
    // The server reads no more bytes than the field names, and its length was looked at before.
    body: (most) => headers.has("content-length") ? request.text() : readStream(request, most),
  };
}

async function readStream({ body }: Request, most: number): Promise<string | ServiceAnswer> {
  if (body === null) return "";
  const reader = body.getReader();
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
