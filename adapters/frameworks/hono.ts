/**
 * Rate limiting for Hono.
 *
 * @example
 * ```ts
 * import { gcra, limiter } from "tidegate";
 * import { rateLimit, type RateLimitVariables } from "tidegate/hono";
 * import { Hono } from "hono";
 *
 * const app = new Hono<{ Variables: RateLimitVariables }>();
 * app.use(rateLimit({ limiter: limiter(gcra({ limit: 100, period: "1m", burst: 100 })) }));
 * app.get("/", (c) => c.text(`${c.get("rateLimit")?.remaining} left`));
 * // Bun.serve({ fetch: app.fetch }); Deno.serve(app.fetch); serve(app) of @hono/node-server
 * ```
 *
 * @module
 */

import type { Decision } from "../../core/decision.ts";
import { clientKeyOf, type RequestSource } from "../http/address/client_key.ts";
import {
  fetchOutcome,
  fetchSource,
  finishResponse,
  refusedResponse,
  releaseAtEnd,
  releaseUnread,
  releaseWhenGone,
} from "../http/servers/fetch_response.ts";
import { applyHeaders } from "../http/fields/apply_headers.ts";
import type { HeaderField } from "../http/fields/header_writer.ts";
import { gate } from "../http/gate/gate.ts";
import { type HitStore, hitStore, type HitStoreOptions } from "./hit_stores.ts";
import type { ClientKeyOptions, RateLimitOptions } from "../http/gate/rate_limit_options.ts";

/** The variables that the middleware puts on the context. */
export type RateLimitVariables = {
  /** The decision about the request; `undefined` if it was not limited. */
  rateLimit: Decision | undefined;
};

/** The part of Hono's context that is needed. */
export interface HonoContext {
  /** The request. */
  readonly req: {
    /** The request as the server handed it over. */
    readonly raw: Request;
    /** The path of its URL. */
    readonly path: string;
    /** Its method. */
    readonly method: string;
    /** A header field; `undefined` if there is none. */
    header(name: string): string | undefined;
  };
  /** The response. */
  res: Response;
  /** The error that a handler threw, if any. */
  readonly error: Error | undefined;
  /** The values that the server handed over with the request. */
  readonly env: unknown;
  /** Puts a variable on the context. */
  // deno-lint-ignore no-explicit-any
  set: any;
  /** Reads a variable of the context. */
  // deno-lint-ignore no-explicit-any
  get: any;
}

/** A middleware of Hono. */
export type HonoMiddleware<Context extends HonoContext> = (
  context: Context,
  next: () => Promise<void>,
) => Promise<Response | void>;

/**
 * Makes a middleware that limits the rate.
 *
 * The client's address is found on Bun, on Deno and with @hono/node-server; elsewhere give `key`
 * or `address`.
 *
 * @param options Only `limiter` is required. Its functions receive the context.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range, or a policy cannot stand in header fields.
 */
export function rateLimit<Context extends HonoContext = HonoContext>(
  options: RateLimitOptions<Context>,
): HonoMiddleware<Context> {
  const decide = gate(options, honoSource);
  const { onRefused } = options;

  return async function limitRate(context, next) {
    const verdict = decide(context, undefined);
    const { decision, headers, refusal, settle, release } = verdict instanceof Promise
      ? await verdict
      : verdict;
    if (decision !== undefined) context.set("rateLimit", decision);
    if (refusal !== undefined) {
      try {
        return await refusedResponse(onRefused, refusal, headers, context, undefined);
      } catch (error) {
        applyHeaders(context.res.headers, headers);
        throw error;
      }
    }
    // Some servers never abort a signal whose first reader comes after the client has gone away.
    const signal = settle ?? release ? context.req.raw.signal : undefined;
    releaseWhenGone(context.req.raw, release);
    try {
      await next();
    } catch (error) {
      settle?.(fetchOutcome({ status: 500, error }, signal));
      release?.();
      throw error;
    }
    const { res } = context;
    settle?.(fetchOutcome({ status: res.status, error: context.error, response: res }, signal));
    const finished = finishAtEnd(res, headers, context.req.raw, release);
    if (finished === res) return undefined;
    // Hono copies the fields of the current response to the response that replaces it.
    context.res = undefined as never;
    context.res = finished;
    if (release !== undefined) whenReplaced(context, () => releaseUnread(finished, release));
    return undefined;
  };
}

/**
 * Calls `replaced` whenever a middleware puts another response on the context, because the body of
 * the earlier one may then never be read.
 */
function whenReplaced(context: HonoContext, replaced: () => void): void {
  const own = Object.getOwnPropertyDescriptor(context, "res");
  const { get, set } = own ??
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(context), "res") ?? {};
  if (get === undefined || set === undefined) return;
  Object.defineProperty(context, "res", {
    configurable: true,
    get,
    set(response) {
      set.call(context, response);
      // The replacement may be made of the earlier body.
      setTimeout(replaced, 0);
    },
  });
}

/**
 * Sets the fields of a response that releases the permits at its end. A response that was sent
 * before, because another middleware answered in its place, stays as it is: on Node, any look at it
 * is a `TypeError`.
 */
function finishAtEnd(
  response: Response,
  headers: readonly HeaderField[],
  request: Request,
  release: (() => void) | undefined,
): Response {
  try {
    return releaseAtEnd(finishResponse(response, headers), request, release);
  } catch (error) {
    release?.();
    if (error instanceof TypeError) return response;
    throw error;
  }
}

/**
 * Makes the default `key` function, on which a key of your own can build.
 *
 * @param options The proxies to trust about addresses, as in `rateLimit`.
 * @returns A function that returns the key of a client's address, or `undefined` if the address is
 *   unknown.
 */
export function clientKey<Context extends HonoContext = HonoContext>(
  options: ClientKeyOptions<Context> = {},
): (context: Context) => string | undefined {
  const keyOf = clientKeyOf(options, honoSource);
  return (context) => keyOf(context, undefined);
}

/**
 * A store for hono-rate-limiter, so that its counts are shared by threads or machines.
 *
 * @param options Where to count.
 * @returns The option `store` of hono-rate-limiter.
 * @throws {TypeError} If there is a store without a prefix.
 *
 * @example
 * ```ts
 * import { memoryStore } from "tidegate";
 * import { honoRateLimiterStore } from "tidegate/hono";
 * import { rateLimiter } from "hono-rate-limiter";
 *
 * const store = memoryStore(); // or that of tidegate/shared, or of tidegate/redis
 * const limit = rateLimiter({
 *   windowMs: 60_000,
 *   limit: 100,
 *   keyGenerator: (c) => c.req.header("x-api-key") ?? "",
 *   store: honoRateLimiterStore({ store, prefix: "web" }),
 * });
 * // app.use(limit);
 * ```
 */
export const honoRateLimiterStore: (options?: HitStoreOptions) => HitStore = hitStore;

export type { HitInfo, HitStore, HitStoreOptions } from "./hit_stores.ts";

/** The values that @hono/node-server passes. Some servers pass Bun's server inside. */
interface HonoServerInfo {
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string } };
  readonly server?: unknown;
}

const honoSource: RequestSource<HonoContext> = {
  address({ req, env }) {
    const info = env as HonoServerInfo | null | undefined;
    const address = fetchSource.address(req.raw, info);
    if (address !== undefined) return address;
    return info?.incoming?.socket?.remoteAddress ?? fetchSource.address(req.raw, info?.server);
  },
  header: ({ req }, name) => req.raw.headers.get(name),
  signal: ({ req }) => req.raw.signal,
  method: ({ req }) => req.raw.method,
  // The app's option `getPath` may read another path than that of the URL.
  target: ({ req }) => [fetchSource.target!(req.raw) as string, req.path],
};
