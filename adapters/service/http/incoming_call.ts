/*
 * An incoming call, whichever server received it: the facts that are known before its body is read.
 */

import { tooLarge } from "./service_answer.ts";

/** A call of the service. */
export interface IncomingCall {
  readonly method: string;
  /** The target of the request line, or the URL that the server made from it. */
  readonly target: string;
  /** A header field; `null` if the call has no such field. The name is in lower case. */
  header(name: string): string | null;
  /** The address of the socket's other end. */
  peer(): string | undefined;
  /** Reads the body as text; refuses a larger body, and rejects if the client breaks off. */
  body(most: number): Promise<string>;
}

/** Makes a call of a request in the style of fetch. */
export function fetchCall(request: Request, peer: () => string | undefined): IncomingCall {
  const { method, url, headers } = request;
  return {
    method,
    target: url,
    header: (name) => headers.get(name),
    peer,
    // The server reads no more bytes than the field says, and the field was checked before.
    body: (most) => headers.has("content-length") ? request.text() : readStream(request, most),
  };
}

async function readStream({ body }: Request, most: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const bytes of body ?? []) {
    size += bytes.length;
    // Leaving the loop cancels the stream.
    if (size > most) throw tooLarge(most);
    text += decoder.decode(bytes, { stream: true });
  }
  return text + decoder.decode();
}
