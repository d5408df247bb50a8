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
  const own = input instanceof Request ? input : undefined;
  const headers = new Headers(init?.headers ?? own?.headers);
  // An iterator has been used up by now.
  const isUsedUp = typeof (init?.headers as Partial<Iterator<unknown>>)?.next === "function";
  const sent = isUsedUp ? { ...init, headers } : init;
  const request = { method: init?.method ?? own?.method ?? "GET", headers, input, init: sent };
  const key = keyOf(new URL(own?.url ?? input as string | URL), request);
  checkText("fetch", "key", key);
  // In `init`, `null` takes away the signal of a `Request`.
  const signal = init?.signal === undefined ? own?.signal : init.signal ?? undefined;
  return { request, key, pauseKey: pauseKeyOf(key, request), signal, deadline: passed() + maxWait };
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
