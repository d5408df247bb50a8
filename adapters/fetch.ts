/**
 * A `fetch` that keeps below the limits of the servers that it calls: those that you set, and those
 * that they tell.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { limitedFetch } from "tidegate/fetch";
 *
 * const fetch = limitedFetch({
 *   limiter: limiter(gcra({ limit: 5_000, period: "1h", burst: 50 })), // for each host
 *   maxWait: 30_000,
 * });
 * // const response = await fetch("https://api.example.com/things", { signal });
 * ```
 *
 * @module
 */

import { checkInteger, checkOptions, complaint } from "../core/check.ts";
import { afterRealTime, checkClock, type Clock } from "../core/clock.ts";
import { decisionOf } from "../core/decision_of.ts";
import { RateLimitedError } from "../core/errors.ts";
import { type AsyncLimiter, type Limiter, limiterOn } from "../core/limiter.ts";
import { gcra } from "../core/gcra.ts";
import { memoryStore } from "../stores/memory.ts";
import { pauses } from "./fetch/pauses.ts";
import { type LimitsTold, readLimits, waitTold } from "./fetch/quotas.ts";

/** What sends requests: `fetch` itself, or one that is called like it. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** A retry that is about to be waited for. */
export interface Retry {
  /** Whose limit: the host, unless `key` says otherwise. */
  readonly key: string;
  /** The status of the refusal. */
  readonly status: number;
  /** Milliseconds until the request is sent again. */
  readonly wait: number;
  /** 1 for the first retry of a request. */
  readonly attempt: number;
}

/** The options of `limitedFetch`. All have defaults. */
export interface LimitedFetchOptions {
  /** A limit to keep below, waiting as long as need be; default none. */
  readonly limiter?: Limiter | AsyncLimiter | undefined;
  /** Whose limit a request counts against; default the URL's host. */
  readonly key?: ((url: URL) => string) | undefined;
  /** Units that a request takes; default 1. */
  readonly cost?: number | undefined;
  /** The longest wait for one call altogether, in milliseconds; default 60,000. */
  readonly maxWait?: number | undefined;
  /** How often a refused request is sent again; default 3. */
  readonly retries?: number | undefined;
  /**
   * The limit of retries altogether, by key, so that retries do not multiply the load on a server
   * in trouble; default one a second, and ten at once.
   */
  readonly budget?: Limiter | undefined;
  /** Told of every retry. */
  readonly onRetry?: ((retry: Retry) => void) | undefined;
  /** What sends requests; default the global `fetch`. */
  readonly fetch?: Fetch | undefined;
  /** The time, and how to wait; default the real ones. */
  readonly clock?: Clock | undefined;
  /** A number from 0 up to 1 for the spread of waits; default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

const ACTION = "create limitedFetch";
/** The first wait where the server does not say how long; doubled with each retry. */
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
 * Before a request is sent it waits for its turn by the `limiter`, and for the end of a pause that
 * the server has asked for: a `RateLimit` field that says that nothing is left, on any response,
 * delays the requests to come.
 *
 * A refusal (429, or 503 with a `Retry-After`) is waited out and the request sent again, as often as
 * `retries` and `budget` allow: after as long as `Retry-After` says, otherwise `RateLimit` in any
 * of its forms or the vendor's own fields, otherwise after 1 s, 2 s, 4 s... spread at random. A 503
 * may have been served in part, so that only methods that may be repeated are. Where waiting would
 * take longer than `maxWait`, or the body is a stream, the caller gets the refusal.
 *
 * @returns A function called like `fetch`. It rejects with a `RateLimitedError` if a request would
 * have to wait for longer than `maxWait` before it is sent, and with the signal's reason if that is
 * aborted while it waits.
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
  checkOptions(ACTION, options);
  const { limiter, cost = 1, maxWait = 60_000, retries = 3, clock = Date.now } = options;
  const { key: keyOf = hostOf, random = Math.random, onRetry } = options;
  const { fetch: send = globalThis.fetch, budget = defaultBudget(clock) } = options;
  checkInteger(ACTION, "retries", retries, 0);
  checkInteger(ACTION, "cost", cost, 0);
  checkClock(ACTION, clock);
  if (!(typeof maxWait === "number" && maxWait >= 0)) {
    throw new RangeError(complaint(ACTION, "maxWait must be milliseconds of at least 0", maxWait));
  }
  const paused = pauses();

  /** Waits out the server's pause and the limiter's queue. */
  async function waitForTurn(key: string, deadline: number, signal: AbortSignal | undefined) {
    for (let pause = paused.left(key, clock()); pause > 0; pause = paused.left(key, clock())) {
      if (clock() + pause > deadline) throw tooLong(key, pause);
      await wait(clock, pause, signal);
    }
    const left = Math.max(0, deadline - clock());
    await limiter?.acquire(key, { cost, maxWait: left, signal });
  }

  /** Remembers the pause that a response asks for. */
  function learn(key: string, response: Response): LimitsTold {
    const told = readLimits(response.headers, clock());
    const exhausted = told.quotas.some(({ remaining }) => remaining === 0);
    if (exhausted || isRefusal(response, told)) {
      const pause = waitTold(told) ?? 0;
      if (pause > 0) paused.pause(key, clock() + pause);
    }
    return told;
  }

  /** Milliseconds until a refused request should be sent again; `undefined` if it should not. */
  function retryIn(response: Response, told: LimitsTold, attempt: number): number | undefined {
    const asked = waitTold(told);
    // Spread, so that those who were refused together do not come back together; only ever later.
    const spread = FIRST_BACKOFF * random();
    if (asked !== undefined) return asked + (asked > 0 ? spread : 0);
    return response.status === 429 ? FIRST_BACKOFF * 2 ** attempt + spread : undefined;
  }

  return async function fetchWithinLimits(input, init) {
    const url = new URL(input instanceof Request ? input.url : input);
    const key = keyOf(url);
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined);
    const deadline = clock() + maxWait;
    const repeatable = isRepeatable(input, init);
    for (let attempt = 0;; attempt++) {
      await waitForTurn(key, deadline, signal);
      const last = attempt === retries || !repeatable;
      const response = await send(input instanceof Request && !last ? input.clone() : input, init);
      const told = learn(key, response);
      if (last || !isRefusal(response, told) || !mayRepeat(response, methodOf(input, init))) {
        return response;
      }
      const pause = retryIn(response, told, attempt);
      if (pause === undefined || clock() + pause > deadline) return response;
      if (!(await budget.consume(key)).allowed) return response;
      onRetry?.({ key, status: response.status, wait: pause, attempt: attempt + 1 });
      await response.body?.cancel();
      await wait(clock, pause, signal);
    }
  };
}

export { type LimitsTold, type Quota, readLimits } from "./fetch/quotas.ts";

function defaultBudget(clock: Clock): Limiter {
  const rate = gcra({ limit: 60, period: "1m", burst: 10 });
  return limiterOn(rate, memoryStore({ maxKeys: 1_000 }), "retries", { clock }) as Limiter;
}

/** A 429, or a server in trouble that says when to come back. */
function isRefusal({ status }: Response, { retryAfter }: LimitsTold): boolean {
  return status === 429 || (status === 503 && retryAfter !== undefined);
}

/** A 429 was not served; a 503 may have been, in part. */
function mayRepeat({ status }: Response, method: string): boolean {
  return status === 429 || REPEATABLE_METHODS.has(method.toUpperCase());
}

function hostOf({ host, protocol }: URL): string {
  return host || protocol;
}

function methodOf(input: string | URL | Request, init: RequestInit | undefined): string {
  return init?.method ?? (input instanceof Request ? input.method : "GET");
}

/** A body that is a stream can be sent once only. A Request's is copied. */
function isRepeatable(input: string | URL | Request, init: RequestInit | undefined): boolean {
  if (init?.body instanceof ReadableStream) return false;
  return !(input instanceof Request && input.bodyUsed);
}

function tooLong(key: string, pause: number): RateLimitedError {
  const refusal = decisionOf(false, 0, 0, pause, pause, pause, 0, "policy", undefined);
  return new RateLimitedError(
    `Cannot fetch from ${JSON.stringify(key)} as the server's pause must end within maxWait: ` +
      `it ends in ${pause} ms`,
    refusal,
  );
}

/** Waits; an abort of the signal ends it with the signal's reason. */
function wait(clock: Clock, milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const done = () => {
      signal?.removeEventListener("abort", abort);
      resolve();
    };
    const cancel = clock.after?.(milliseconds, done) ?? afterRealTime(milliseconds, done);
    function abort(): void {
      cancel();
      signal!.removeEventListener("abort", abort);
      reject(signal!.reason);
    }
    signal?.addEventListener("abort", abort);
  });
}
