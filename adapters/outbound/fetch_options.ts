/*
 * The options of `limitedFetch` and their checks, apart from the code that sends and retries.
 */

import type { Clock } from "../../core/clock.ts";
import { internalsOf } from "../../core/limiter/limiter_internals.ts";
import type { AsyncLimiter, Limiter } from "../../core/limiter/limiter_types.ts";
import {
  checkFunction,
  checkInteger,
  type OptionNames,
  typeError,
} from "../../core/options/checks.ts";
import { type Period, readLongestWait } from "../../core/options/period.ts";

/** A function that sends requests: `fetch` itself, or a function that is called like it. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** A request before it is sent, for `key`. */
export interface FetchRequest {
  /** Its method, as given. */
  readonly method: string;
  /** Its header fields: the fields of `init`, otherwise the fields of a `Request`. */
  readonly headers: Headers;
  /**
   * The first argument of `fetch`. Its body must not be read here, because it could not be sent
   * afterwards.
   */
  readonly input: string | URL | Request;
  /** The second argument of `fetch`. */
  readonly init: RequestInit | undefined;
}

/** A retry that is about to be waited for. */
export interface Retry {
  /**
   * The key of the limit that refused: the last host after redirects, unless `key` says otherwise.
   */
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
  /** A limit for the requests; a request waits as long as needed. Default none. */
  readonly limiter?: Limiter | AsyncLimiter | undefined;
  /**
   * The key of a request's limit, and of a server's pauses. Default is the URL's host. Pauses are
   * then also kept separately for each `Authorization` field, so a tenant that has used up its
   * quota does not delay other tenants.
   *
   * @param url The URL; after redirects the last URL, which the answer is about.
   */
  readonly key?: ((url: URL, request: FetchRequest) => string) | undefined;
  /** Units that a request takes; default 1. */
  readonly cost?: number | undefined;
  /**
   * The longest wait for one call altogether: milliseconds, or text such as `"30s"`; default a minute.
   * It counts from the call, so the time until refusals arrived is part of it.
   */
  readonly maxWait?: Period | undefined;
  /**
   * The longest pause that a server can impose: milliseconds, or text such as `"10m"`; default an
   * hour. If it asks for more, the refused call gets the refusal, and later calls may try again
   * after `maxPause`.
   */
  readonly maxPause?: Period | undefined;
  /** How often a refused request is sent again; default 3. */
  readonly retries?: number | undefined;
  /**
   * The limit of all retries, by key, so that retries do not multiply the load on a failing server;
   * default one a second, and ten at once. If its store cannot decide, nothing is sent again.
   */
  readonly budget?: Limiter | AsyncLimiter | undefined;
  /** Called with every retry. */
  readonly onRetry?: ((retry: Retry) => void) | undefined;
  /** The function that sends requests; default the global `fetch`. */
  readonly fetch?: Fetch | undefined;
  /** The time, and how to wait; default is real time. */
  readonly clock?: Clock | undefined;
  /** A number from 0 up to 1 for the spread of waits; default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** The options, with their checks. */
export const FETCH_OPTIONS: OptionNames<LimitedFetchOptions> = {
  limiter: checkLimiter,
  key: checkFunction,
  cost: checkCount,
  maxWait: checkPatience,
  maxPause: checkPatience,
  retries: checkCount,
  budget: checkLimiter,
  onRetry: checkFunction,
  fetch: checkFunction,
  clock: checkFunction,
  random: checkFunction,
};

function checkLimiter(action: string, option: string, value: unknown): void {
  const isObject = typeof value === "object" && value !== null;
  if (isObject && internalsOf(value) !== undefined) return;
  throw typeError(action, `${option} must be a limiter`, value);
}

function checkCount(action: string, option: string, value: unknown): void {
  checkInteger(action, option, value, 0);
}

function checkPatience(action: string, option: string, value: unknown): void {
  readLongestWait(action, option, value as Period);
}
