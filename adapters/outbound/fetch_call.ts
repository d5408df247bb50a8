/*
 * What is read of a request before it is sent.
 */
import { checkText } from "../../core/options/checks.ts";
import type { FetchRequest, FetchSettings } from "./fetch_options.ts";

/** A request on its way through a limited fetch. */
export interface FetchCall {
  readonly request: FetchRequest;
  /** Whose limit it counts against. */
  readonly key: string;
  /** Whose pauses it waits out. */
  readonly pauseKey: string;
  readonly signal: AbortSignal | undefined;
  /** The end of its patience, by `passed`. */
  readonly deadline: number;
}

/**
 * Reads a request.
 *
 * @throws {TypeError} If it has no URL, or `key` does not answer text.
 */
export function fetchCall(
  { key: keyOf, pauseKeyOf, passed, maxWait }: FetchSettings,
  input: string | URL | Request,
  init: RequestInit | undefined,
): FetchCall {
  const headers = headersOf(input, init);
  // An iterator has been used up by now.
  const sent = isIterator(init?.headers) ? { ...init, headers } : init;
  const request = { method: methodOf(input, init), headers, input, init: sent };
  const key = keyOf(new URL(input instanceof Request ? input.url : input), request);
  checkText("fetch", "key", key);
  const pauseKey = pauseKeyOf(key, request);
  return { request, key, pauseKey, signal: signalOf(input, init), deadline: passed() + maxWait };
}

/**
 * Whether a request can be sent once more, after it has been sent: whether its body is a value and
 * not a stream, an iterator or whatever else is used up. The body of a `Request` always is used up,
 * and a copy made beforehand would keep all of an upload in memory.
 */
export function isRepeatable({ input, init }: FetchRequest): boolean {
  return isValue(init?.body) && !(input instanceof Request && input.bodyUsed);
}

function isValue(body: unknown): boolean {
  return body === undefined || body === null || typeof body === "string" ||
    body instanceof ArrayBuffer || ArrayBuffer.isView(body) || body instanceof Blob ||
    body instanceof URLSearchParams || body instanceof FormData;
}

function headersOf(input: string | URL | Request, init: RequestInit | undefined): Headers {
  return new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
}

function isIterator(headers: unknown): boolean {
  return typeof (headers as Partial<Iterator<unknown>> | undefined)?.next === "function";
}

function methodOf(input: string | URL | Request, init: RequestInit | undefined): string {
  return init?.method ?? (input instanceof Request ? input.method : "GET");
}

/** The signal of a request; `null` in `init` takes away that of a `Request`. */
function signalOf(
  input: string | URL | Request,
  init: RequestInit | undefined,
): AbortSignal | undefined {
  const own = input instanceof Request ? input.signal : undefined;
  return init?.signal === undefined ? own : init.signal ?? undefined;
}
