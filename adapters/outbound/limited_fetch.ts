/**
 * A `fetch` that keeps below limits: the limits that you set, and the limits that servers announce.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { limitedFetch } from "tidegate/fetch";
 *
 * const fetch = limitedFetch({
 *   // 5,000 an hour for each host, less the burst, and less room for requests that arrive late.
 *   limiter: limiter(gcra({ limit: 4_850, period: "1h", burst: 50 })),
 *   maxWait: 30_000,
 * });
 * // const response = await fetch("https://api.example.com/things", { signal });
 * ```
 *
 * @module
 */

import { readLongestWait } from "../../core/options/period.ts";
import { gcra } from "../../core/algorithms/gcra.ts";
import { type Clock, passingTime } from "../../core/clock.ts";
import { isStoreError, RateLimitedError } from "../../core/errors.ts";
import { firstPrinted, guarded } from "../../core/guarded.ts";
import { acquireOrUndo } from "../../core/waiting/acquire.ts";
import { limiterOn } from "../../core/limiter/limiter.ts";
import { internalsOf } from "../../core/limiter/limiter_internals.ts";
import type { AsyncLimiter, Limiter } from "../../core/limiter/limiter_types.ts";
import { makeDecision } from "../../core/make_decision.ts";
import { checkOptions, checkText } from "../../core/options/checks.ts";
import { sleep } from "../../core/sleep.ts";
import { memoryStore } from "../../stores/memory/memory_store.ts";
import {
  type Fetch,
  FETCH_OPTIONS,
  type FetchRequest,
  type LimitedFetchOptions,
} from "./fetch_options.ts";
import { type LimitsTold, readLimits, waitFor } from "./read_limits.ts";
import { serverPauses } from "./server_pauses.ts";

/** The first wait if the server does not say how long to wait; doubled with each retry. */
const FIRST_BACKOFF = 1_000;
const REPEATABLE_METHODS: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "OPTIONS",
  "PUT",
  "DELETE",
]);

/**
 * Makes a `fetch` that keeps below limits.
 *
 * Before a request is sent, it waits for its turn by the `limiter`, and for the end of any pause
 * that the server has asked for. If the `RateLimit` field of any response says that nothing is
 * left, later requests are delayed. After redirects, the last host's fields are read, and the last
 * host is paused. Pauses of 1,000 keys are remembered, for at most `maxPause`.
 *
 * A refusal (429, or another error with a `Retry-After`) is waited out and the request sent again, as often as
 * `retries` and `budget` allow: after as long as `Retry-After` says, otherwise `RateLimit` in any
 * of its forms or the vendor's own fields, otherwise after 1 s, 2 s, 4 s... spread at random.
 * Each of them may be an instant; instants count from the server's `Date`, if that is within a day. The caller gets the refusal
 *
 * - if waiting would take longer than `maxWait` or `maxPause`;
 * - if the request may have been served in part (a 5xx, or a refusal after a redirect), unless its
 *   method may be repeated (GET, HEAD, OPTIONS, PUT, DELETE);
 * - if the body can be sent only once: a stream, an iterator, or the body of a `Request`. Text,
 *   bytes, a `Blob`, `URLSearchParams` and `FormData` in `init` are sent again.
 *
 * A request that failed without an answer, for example because there is no network, is not sent
 * again.
 *
 * @returns A function called like `fetch`. It rejects with a `RateLimitedError` if a request would
 * have to wait for longer than `maxWait` before it is sent, and with the signal's reason if the
 * signal is aborted while it waits; its units are then given back.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range.
 *
 * @example
 * ```ts
 * import { limitedFetch } from "tidegate/fetch";
 * import assert from "node:assert/strict";
 *
 * const answers = [
 *   new Response("later", { status: 429, headers: { "Retry-After": "0" } }),
 *   new Response("hello"),
 * ];
 * const fetch = limitedFetch({ fetch: () => Promise.resolve(answers.shift()!) });
 * assert.equal(await (await fetch("https://api.example.com/")).text(), "hello");
 * ```
 */
export function limitedFetch(options: LimitedFetchOptions = {}): Fetch {
  const settings = fetchSettings(options);
  const { fetch, onRetry } = settings;

  return async function fetchWithinLimits(input, init) {
    const call = fetchCall(settings, input, init);
    for (let attempt = 1;; attempt++) {
      await waitForTurn(settings, call);
      const response = await fetch(input, call.request.init);
      const key = keyOfAnswer(settings, call, response);
      const wait = await retryWait(settings, call, response, key, attempt);
      if (wait === undefined) return response;
      response.body?.cancel().catch(ignore);
      onRetry?.({ key, status: response.status, wait, attempt });
      await waitOrThrow(settings, wait, call.signal);
    }
  };
}

export type { Fetch, FetchRequest, LimitedFetchOptions, Retry } from "./fetch_options.ts";
export { type LimitsTold, type Quota, readLimits } from "./read_limits.ts";

/** The settings of a limited fetch. */
type FetchSettings = ReturnType<typeof fetchSettings>;

/**
 * Reads the options.
 *
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range.
 */
function fetchSettings(options: LimitedFetchOptions) {
  checkOptions<LimitedFetchOptions>("create limitedFetch", options, FETCH_OPTIONS);
  const { limiter, key = hostOf, cost = 1 } = options;
  const maxWait = readLongestWait("create limitedFetch", "maxWait", options.maxWait ?? "1m");
  const maxPause = readLongestWait("create limitedFetch", "maxPause", options.maxPause ?? "1h");
  const { retries = 3, clock = Date.now as Clock, budget = defaultBudget(clock), onRetry } =
    options;
  const { fetch = globalThis.fetch, random = Math.random } = options;
  return {
    ...{ limiter, key, cost, maxWait, maxPause, retries, budget, fetch, clock, random },
    onRetry: onRetry && guarded(onRetry, firstPrinted()),
    /** The owner of a pause: the key, and whatever else distinguishes tenants. */
    pauseKeyOf: key === hostOf ? withCredentials : (key: string) => key,
    /** The clock that waits follow, in milliseconds. It does not step. */
    passed: passingTime(options.clock),
    pauses: serverPauses(maxPause),
  };
}

function hostOf({ host, protocol }: URL): string {
  return host || protocol;
}

/** The key of a pause under the default `key`. It stays in memory, and is never reported. */
function withCredentials(host: string, { headers }: FetchRequest): string {
  return `${host}\n${headers.get("authorization") ?? ""}`;
}

function defaultBudget(clock: Clock): Limiter {
  const rate = gcra({ limit: 60, period: "1m", burst: 10 });
  return limiterOn(rate, memoryStore({ maxKeys: 1_000 }), "retries", { clock }) as Limiter;
}

/** A request on its way through a limited fetch. */
type FetchCall = ReturnType<typeof fetchCall>;

/**
 * Reads a request.
 *
 * @throws {TypeError} If it has no URL, or `key` does not return text.
 */
function fetchCall(
  { key: keyOf, pauseKeyOf, passed, maxWait }: FetchSettings,
  input: string | URL | Request,
  init: RequestInit | undefined,
) {
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
  return {
    request,
    /** The key of the limit that it counts against. */
    key,
    /** The key of the pauses that it waits out. */
    pauseKey: pauseKeyOf(key, request),
    signal,
    /** The instant at which its `maxWait` ends, by `passed`. */
    deadline: passed() + maxWait,
  };
}

/**
 * Whether a request can be sent once more, after it has been sent: whether its body is a value, and
 * not something that is used up, such as a stream or an iterator. The body of a `Request` is always
 * used up, and a copy made beforehand would keep a whole upload in memory.
 */
function isRepeatable({ input, init }: FetchRequest): boolean {
  return isValue(init?.body) && !(input instanceof Request && input.bodyUsed);
}

function isValue(body: unknown): boolean {
  return body === undefined || body === null || typeof body === "string" ||
    body instanceof ArrayBuffer || ArrayBuffer.isView(body) || body instanceof Blob ||
    body instanceof URLSearchParams || body instanceof FormData;
}

/**
 * Waits until a request may be sent.
 *
 * @throws {RateLimitedError} If that would be after its deadline.
 * @throws The reason with which its signal was aborted. The units that it had taken are given back.
 */
async function waitForTurn(settings: FetchSettings, call: FetchCall): Promise<void> {
  const { limiter, cost, passed, pauses } = settings;
  const { key, pauseKey, signal, deadline } = call;
  while (true) {
    await waitOutPause(settings, call);
    if (limiter === undefined) return;
    const maxWait = Math.max(0, deadline - passed());
    const { undo } = await acquireOrUndo(internalsOf(limiter)!, key, false, {
      cost,
      maxWait,
      signal,
    });
    // The server may have announced a pause meanwhile. If requests kept their turns until its end,
    // they would be sent in one burst.
    if (!signal?.aborted && pauses.left(pauseKey, passed()) === 0) return;
    await undo?.();
    signal?.throwIfAborted();
  }
}

/** Waits; an abort of the signal ends it with the signal's reason. */
async function waitOrThrow(
  { clock }: FetchSettings,
  milliseconds: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (!await sleep(clock, milliseconds, signal)) throw signal!.reason;
}

async function waitOutPause(settings: FetchSettings, call: FetchCall): Promise<void> {
  const { passed, pauses } = settings;
  const { key, pauseKey, signal, deadline } = call;
  const leftNow = () => pauses.left(pauseKey, passed());
  for (let left = leftNow(); left > 0; left = leftNow()) {
    if (passed() + left > deadline) throw tooLong(key, left);
    await waitOrThrow(settings, left, signal);
  }
}

function tooLong(key: string, pause: number): RateLimitedError {
  const refusal = makeDecision(false, 0, 0, pause, pause, pause, 0, 0, "policy", undefined);
  return new RateLimitedError(
    `Cannot fetch from ${JSON.stringify(key)} as the server's pause must end within maxWait: ` +
      `it ends in ${pause} ms`,
    refusal,
  );
}

/** The key of the limit that a response is about. */
function keyOfAnswer(
  { key: keyOf }: FetchSettings,
  { key, request }: FetchCall,
  { redirected, url }: Response,
): string {
  return redirected && URL.canParse(url) ? keyOf(new URL(url), request) : key;
}

/**
 * Remembers the pause that a response announces, and decides about a retry.
 *
 * @returns Milliseconds until the request should be sent again; `undefined` if it should not.
 */
async function retryWait(
  settings: FetchSettings,
  call: FetchCall,
  response: Response,
  key: string,
  attempt: number,
): Promise<number | undefined> {
  const { clock, passed, pauses, pauseKeyOf, retries, budget } = settings;
  const limits = readLimits(response.headers, clock());
  const refused = isRefusal(response, limits);
  // The `Retry-After` of a success or a redirect is about other things.
  const pause = waitFor(refused ? limits : { ...limits, retryAfter: undefined });
  if (pause !== undefined) pauses.pause(pauseKeyOf(key, call.request), passed(), pause);
  if (!refused || attempt > retries || !mayRepeat(response, call.request)) return undefined;
  const wait = spreadWait(settings, limits, attempt);
  if (wait === undefined || passed() + wait > call.deadline) return undefined;
  return await hasRoom(budget, key) ? wait : undefined;
}

/** How long a refused request waits; `undefined` if longer than it may. */
function spreadWait(
  { maxPause, random }: FetchSettings,
  limits: LimitsTold,
  attempt: number,
): number | undefined {
  // A server that says 0 and refuses once more has not meant it.
  const backoff = FIRST_BACKOFF * 2 ** (attempt - 1);
  const asked = waitFor(limits) ?? backoff;
  const pause = asked === 0 && attempt > 1 ? backoff : asked;
  if (pause > maxPause) return undefined;
  // Waits are spread at random, so that clients which were refused together do not come back
  // together. They only become longer.
  return pause === 0 ? 0 : pause + FIRST_BACKOFF * random();
}

/**
 * Whether the budget allows a retry. A budget that cannot decide does not allow it, because there
 * is already an answer to return.
 */
async function hasRoom(budget: Limiter | AsyncLimiter, key: string): Promise<boolean> {
  try {
    return (await budget.consume(key)).allowed;
  } catch (error) {
    if (isStoreError(error)) return false;
    throw error;
  }
}

/** A 429, or any other error for which the server says when to come back: GitHub's is a 403. */
function isRefusal({ status }: Response, { retryAfter }: LimitsTold): boolean {
  return status === 429 || (status >= 400 && retryAfter !== undefined);
}

/**
 * A server has not served a request that it refuses with a 4xx. It may have served part of a request
 * that it answers with a 5xx. A redirected request was served by the first server: it has
 * accepted the form, and the answer is elsewhere.
 */
function mayRepeat({ status, redirected }: Response, request: FetchRequest): boolean {
  const unserved = status < 500 && !redirected;
  return (unserved || REPEATABLE_METHODS.has(request.method.toUpperCase())) &&
    isRepeatable(request);
}

/** Errors of a body that is never read do not matter. */
function ignore(_error: unknown): void {}
