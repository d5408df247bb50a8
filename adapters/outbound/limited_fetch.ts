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

import {
  checkFunction,
  checkInteger,
  checkOptions,
  checkText,
  errorMessage,
} from "../../core/options/checks.ts";
import { checkClock, type Clock, passingTime } from "../../core/clock.ts";
import { makeDecision } from "../../core/make_decision.ts";
import { RateLimitedError } from "../../core/errors.ts";
import { type AsyncLimiter, type Limiter, limiterOn } from "../../core/limiter/limiter.ts";
import { gcra } from "../../core/algorithms/gcra.ts";
import { firstPrinted, guarded } from "../../core/guarded.ts";
import { memoryStore } from "../../stores/memory/memory_store.ts";
import { isRepeatable } from "./is_repeatable.ts";
import { serverPauses } from "./server_pauses.ts";
import { type LimitsTold, readLimits, waitFor } from "./read_limits.ts";
import { wait } from "./wait.ts";
import { isStoreFailure } from "../http/gate/is_store_failure.ts";

/** What sends requests: `fetch` itself, or one that is called like it. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** A retry that is about to be waited for. */
export interface Retry {
  /** Whose limit refused: the last host after redirects, unless `key` says otherwise. */
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
  /**
   * The longest wait for one call altogether, in milliseconds; default 60,000. It counts from the
   * call, so what refusals took to come is part of it.
   */
  readonly maxWait?: number | undefined;
  /**
   * The longest pause that a server can impose, in milliseconds; default 3,600,000, an hour. If it
   * asks for more, the call that was refused gets the refusal, and calls to come may try again after
   * this long.
   */
  readonly maxPause?: number | undefined;
  /** How often a refused request is sent again; default 3. */
  readonly retries?: number | undefined;
  /**
   * The limit of retries altogether, by key, so that retries do not multiply the load on a server
   * in trouble; default one a second, and ten at once. Where its store cannot decide, nothing is
   * sent again.
   */
  readonly budget?: Limiter | AsyncLimiter | undefined;
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
 * delays the requests to come. After redirects it is the last host that is heard and paused. Pauses
 * of 1,000 keys are remembered, none for longer than `maxPause`.
 *
 * A refusal (429, or 503 with a `Retry-After`) is waited out and the request sent again, as often as
 * `retries` and `budget` allow: after as long as `Retry-After` says, otherwise `RateLimit` in any
 * of its forms or the vendor's own fields, otherwise after 1 s, 2 s, 4 s... spread at random.
 * Instants count from the server's `Date`, if that is within a day. The caller gets the refusal
 *
 * - where waiting would take longer than `maxWait` or `maxPause`;
 * - where the request may have been served in part, a 503 or a refusal after a redirect, unless its
 *   method may be repeated (GET, HEAD, OPTIONS, PUT, DELETE);
 * - where the body can be sent only once: a stream, an iterator, or the body of a `Request`. Text,
 *   bytes, a `Blob`, `URLSearchParams` and `FormData` in `init` are sent again.
 *
 * A request that was never answered, as there was no network, is not sent again.
 *
 * @returns A function called like `fetch`. It rejects with a `RateLimitedError` if a request would
 * have to wait for longer than `maxWait` before it is sent, and with the signal's reason if that is
 * aborted while it waits; what it had taken is then given back.
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
  checkFetchOptions(options);
  const { limiter, cost = 1, maxWait = 60_000, maxPause = 3_600_000, retries = 3 } = options;
  const { key: keyOf = hostOf, random = Math.random, clock = Date.now } = options;
  const onRetry = options.onRetry && guarded(options.onRetry, firstPrinted());
  const { fetch: send = globalThis.fetch, budget = defaultBudget(clock) } = options;
  const paused = serverPauses(maxPause);
  const passed = passingTime(options.clock);

  /** Waits out the server's pause, then in the limiter's line. */
  async function waitForTurn(key: string, deadline: number, signal: AbortSignal | undefined) {
    while (true) {
      for (let pause = paused.left(key, passed()); pause > 0; pause = paused.left(key, passed())) {
        if (passed() + pause > deadline) throw tooLong(key, pause);
        await wait(clock, pause, signal);
      }
      if (limiter === undefined) return;
      const patience = Math.max(0, deadline - passed());
      const { source } = await limiter.acquire(key, { cost, maxWait: patience, signal });
      // The server may have asked for a pause meanwhile: what is held until its end would be sent
      // in one burst.
      if (!signal?.aborted && paused.left(key, passed()) === 0) return;
      if (cost > 0 && source !== "policy" && !isQueue(limiter)) await limiter.refund(key, cost);
      signal?.throwIfAborted();
    }
  }

  /** Whose limit a response tells of. */
  function keyOfAnswer({ redirected, url }: Response, key: string): string {
    return redirected && URL.canParse(url) ? keyOf(new URL(url)) : key;
  }

  /** Remembers the pause that a response asks for. Not every `Retry-After` is about limits. */
  function learn(key: string, told: LimitsTold, refused: boolean): void {
    const pause = waitFor(refused ? told : { ...told, retryAfter: undefined });
    if (pause !== undefined) paused.pause(key, passed(), pause);
  }

  /** Milliseconds until a refused request should be sent again; `undefined` if it should not. */
  function retryIn(told: LimitsTold, attempt: number): number | undefined {
    const pause = waitFor(told) ?? FIRST_BACKOFF * 2 ** attempt;
    if (pause > maxPause) return undefined;
    // Spread, so that those who were refused together do not come back together; only ever later.
    return pause === 0 ? 0 : pause + FIRST_BACKOFF * random();
  }

  return async function fetchWithinLimits(input, init) {
    const url = new URL(input instanceof Request ? input.url : input);
    const key = keyOf(url);
    checkText("fetch", "key", key);
    const signal = signalOf(input, init);
    const deadline = passed() + maxWait;
    for (let attempt = 0;; attempt++) {
      await waitForTurn(key, deadline, signal);
      const response = await send(input, init);
      const own = keyOfAnswer(response, key);
      const told = readLimits(response.headers, clock());
      const refused = isRefusal(response, told);
      learn(own, told, refused);
      if (!refused || attempt === retries) return response;
      if (!mayRepeat(response, methodOf(input, init)) || !isRepeatable(input, init)) {
        return response;
      }
      const pause = retryIn(told, attempt);
      if (pause === undefined || passed() + pause > deadline) return response;
      if (!(await hasRoom(budget, own))) return response;
      response.body?.cancel().catch(ignore);
      onRetry?.({ key: own, status: response.status, wait: pause, attempt: attempt + 1 });
      await wait(clock, pause, signal);
    }
  };
}

export { type LimitsTold, type Quota, readLimits } from "./read_limits.ts";

function defaultBudget(clock: Clock): Limiter {
  const rate = gcra({ limit: 60, period: "1m", burst: 10 });
  return limiterOn(rate, memoryStore({ maxKeys: 1_000 }), "retries", { clock }) as Limiter;
}

/** Whether the budget allows a retry. One that cannot decide does not: the answer is at hand. */
async function hasRoom(budget: Limiter | AsyncLimiter, key: string): Promise<boolean> {
  try {
    return (await budget.consume(key)).allowed;
  } catch (error) {
    if (isStoreFailure(error)) return false;
    throw error;
  }
}

/** A 429, or a server in trouble that says when to come back. */
function isRefusal({ status }: Response, { retryAfter }: LimitsTold): boolean {
  return status === 429 || (status === 503 && retryAfter !== undefined);
}

/**
 * A 429 was not served; a 503 may have been, in part. What was redirected has been served by the
 * first server: a form that was taken, and whose answer is elsewhere.
 */
function mayRepeat({ status, redirected }: Response, method: string): boolean {
  return (status === 429 && !redirected) || REPEATABLE_METHODS.has(method.toUpperCase());
}

/** Whether others may stand behind a place, so that it cannot be given back. */
function isQueue({ algorithm }: Limiter | AsyncLimiter): boolean {
  return algorithm.id.includes("leakyQueue/");
}

function hostOf({ host, protocol }: URL): string {
  return host || protocol;
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

function tooLong(key: string, pause: number): RateLimitedError {
  const refusal = makeDecision(false, 0, 0, pause, pause, pause, 0, "policy", undefined);
  return new RateLimitedError(
    `Cannot fetch from ${JSON.stringify(key)} as the server's pause must end within maxWait: ` +
      `it ends in ${pause} ms`,
    refusal,
  );
}

function checkFetchOptions(options: LimitedFetchOptions): void {
  checkOptions(ACTION, options);
  const { limiter, budget, cost = 1, maxWait = 0, maxPause = 0, retries = 0, clock } = options;
  checkInteger(ACTION, "retries", retries, 0);
  checkInteger(ACTION, "cost", cost, 0);
  checkClock(ACTION, clock);
  for (const [option, value] of Object.entries({ maxWait, maxPause })) {
    if (typeof value === "number" && value >= 0) continue;
    throw new RangeError(
      errorMessage(ACTION, `${option} must be milliseconds of at least 0`, value),
    );
  }
  for (const [option, value] of Object.entries({ limiter, budget })) {
    if (value === undefined || typeof value?.acquire === "function") continue;
    throw new TypeError(errorMessage(ACTION, `${option} must be a limiter`, value));
  }
  for (const option of ["key", "onRetry", "fetch", "random"] as const) {
    if (options[option] !== undefined) checkFunction(ACTION, option, options[option]);
  }
}

/** A body that nobody reads may end as it likes. */
function ignore(_error: unknown): void {}
